#include "network/sha1.h"

#include <string.h>

static uint32_t rotate(uint32_t value, int by) { return value << by | value >> (32 - by); }

static uint32_t mix(int round, uint32_t b, uint32_t c, uint32_t d) {
  if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999u;
  if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1u;
  if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdcu;
  return (b ^ c ^ d) + 0xca62c1d6u;
}

static void take_block(struct sha1 *sha1) {
  uint32_t words[80], s[5];
  const uint8_t *at = sha1->block;
  for (int i = 0; i < 16; i++, at += 4) words[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  for (int i = 16; i < 80; i++) words[i] = rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  memcpy(s, sha1->state, sizeof s);
  for (int i = 0; i < 80; i++) {
    uint32_t next = rotate(s[0], 5) + mix(i, s[1], s[2], s[3]) + s[4] + words[i];
    s[4] = s[3], s[3] = s[2], s[2] = rotate(s[1], 30), s[1] = s[0], s[0] = next;
  }
  for (int i = 0; i < 5; i++) sha1->state[i] += s[i];
}

void sha1_begin(struct sha1 *sha1) { *sha1 = (struct sha1){{0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u}, 0, {0}}; }

void sha1_add(struct sha1 *sha1, const void *bytes, size_t length) {
  const uint8_t *at = bytes;
  while (length > 0) {
    size_t filled = sha1->length % 64, taken = length < 64 - filled ? length : 64 - filled;
    memcpy(sha1->block + filled, at, taken);
    sha1->length += taken;
    at += taken;
    length -= taken;
    if (filled + taken == 64) take_block(sha1);
  }
}

void sha1_end(struct sha1 *sha1, uint8_t digest[SHA1_BYTES]) {
  uint64_t bits = sha1->length * 8;
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  sha1_add(sha1, "\x80", 1);
  while (sha1->length % 64 != 56) sha1_add(sha1, "", 1);
  sha1_add(sha1, length, sizeof length);
  for (int i = 0; i < 20; i++) digest[i] = (uint8_t)(sha1->state[i / 4] >> (24 - 8 * (i % 4)));
}
