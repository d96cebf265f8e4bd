// The digest that a Java key store ends with. It protects nothing.
#ifndef HEARTH_NETWORK_SHA1_H
#define HEARTH_NETWORK_SHA1_H
#include <stddef.h>
#include <stdint.h>

#define SHA1_BYTES 20u

struct sha1 {
  uint32_t state[5];
  uint64_t length;
  uint8_t block[64];
};

void sha1_begin(struct sha1 *sha1);
void sha1_add(struct sha1 *sha1, const void *bytes, size_t length);
void sha1_end(struct sha1 *sha1, uint8_t digest[SHA1_BYTES]);
#endif
