// The name server of the sandbox: 127.0.0.53, port 53, datagrams and streams.
#ifndef HEARTH_NETWORK_RESOLVER_H
#define HEARTH_NETWORK_RESOLVER_H
#include <stdbool.h>

#include "network/lookup.h"
#include "network/scope.h"

#define RESOLVER_ADDRESS 0x7f000035u
#define STREAM_LIMIT 32u  // connections to it at one time

// In this network. Idempotent. 0 or an errno.
int resolver_open(struct scope *scope);
void resolver_close(struct scope *scope);
// False: nobody is there whom it could ask, and every question fails.
void resolver_serve(bool serving);
// To somebody who may have gone.
void resolver_answer(const struct asker *asker, enum dns_code code, uint32_t address);
// A question has come whole: packet and where it came from are filled in.
void resolver_ask(struct asker *asker, size_t length);
#endif
