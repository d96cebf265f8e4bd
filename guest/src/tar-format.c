#include "tar-format.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static bool read_binary(const uint8_t *bytes, uint32_t width, uint64_t *value) {
  *value = bytes[0] & 0x3f;
  if (bytes[0] & 0x40) return false;  // negative
  for (uint32_t i = 1; i < width; i++) {
    if (*value >> 55) return false;
    *value = *value << 8 | bytes[i];
  }
  return true;
}

bool tar_read_number(const char *field, uint32_t width, uint64_t *value) {
  const uint8_t *bytes = (const uint8_t *)field;
  if (bytes[0] & 0x80) return read_binary(bytes, width, value);
  uint32_t at = 0;
  *value = 0;
  while (at < width && field[at] == ' ') at++;
  for (; at < width && field[at] >= '0' && field[at] <= '7'; at++) *value = *value << 3 | (uint64_t)(field[at] - '0');
  return at == width || field[at] == ' ' || field[at] == 0;
}

bool tar_write_number(char *field, uint32_t width, uint64_t value) {
  uint32_t digits = width - 1;
  bool fits = value >> (digits * 3) == 0;
  if (!fits) value = 0;
  for (uint32_t i = digits; i > 0; i--, value >>= 3) field[i - 1] = (char)('0' + (value & 7));
  field[digits] = 0;
  return fits;
}

uint32_t tar_checksum(const struct tar_header *header) {
  const uint8_t *bytes = (const uint8_t *)header;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < TAR_BLOCK; i++) {
    bool own_field = i >= offsetof(struct tar_header, checksum) && i < offsetof(struct tar_header, type);
    sum += own_field ? ' ' : bytes[i];
  }
  return sum;
}

bool tar_is_zero(const struct tar_header *header) {
  const uint8_t *bytes = (const uint8_t *)header;
  for (uint32_t i = 0; i < TAR_BLOCK; i++) {
    if (bytes[i]) return false;
  }
  return true;
}
