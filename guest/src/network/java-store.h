// Certificates as Java reads them: a key store (JKS) with the password `changeit`, as those of the distributions have.
#ifndef HEARTH_NETWORK_JAVA_STORE_H
#define HEARTH_NETWORK_JAVA_STORE_H
#include "wire.h"

// Appends a store of all certificates in this text of PEM. False when memory is short.
bool java_store_write(struct slice certificates, struct buffer *store);
#endif
