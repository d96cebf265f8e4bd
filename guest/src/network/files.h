// Files that tell programs of the sandbox where its resolver is and whom to trust.
#ifndef HEARTH_NETWORK_FILES_H
#define HEARTH_NETWORK_FILES_H
#include "wire.h"

#define RESOLVER_FILE "/etc/resolv.conf"
#define TRUST_FILE "/.hearth/certificates.crt"  // what the variables of the host point to
#define JAVA_TRUST_FILE "/.hearth/cacerts"
#define TRUST_BYTES (4u << 20)  // of what the template trusts; a longer list is not read

// Both take 0 or an errno.
int network_write_resolver(void);
// Puts a certificate together with those that the template trusts, in the place of an earlier one, for Java too; also where the template keeps them,
// unless that cannot be written.
int network_write_authority(struct slice certificate);
#endif
