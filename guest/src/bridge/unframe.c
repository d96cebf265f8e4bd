#include <string.h>

#include "streams.h"

bool unframe(struct unframer *unframer, const uint8_t **input, size_t *length, struct unframed *piece) {
  *piece = (struct unframed){0, NULL, 0};
  if (unframer->left == 0) {
    size_t wanted = sizeof unframer->header - unframer->header_length;
    size_t taken = *length < wanted ? *length : wanted;
    memcpy(unframer->header + unframer->header_length, *input, taken);
    unframer->header_length += taken;
    *input += taken;
    *length -= taken;
    if (unframer->header_length < sizeof unframer->header) return true;
    const uint8_t *h = unframer->header;
    if (h[0] > 2 || h[1] != 0 || h[2] != 0 || h[3] != 0) return false;
    unframer->left = (uint32_t)h[4] << 24 | (uint32_t)h[5] << 16 | (uint32_t)h[6] << 8 | (uint32_t)h[7];
    unframer->header_length = 0;
    // An empty frame is followed by the next header.
    if (unframer->left == 0 || *length == 0) return true;
  }
  size_t taken = *length < unframer->left ? *length : unframer->left;
  piece->stream = unframer->header[0] == 2 ? 2 : 1;
  piece->bytes = *input;
  piece->length = taken;
  *input += taken;
  *length -= taken;
  unframer->left -= (uint32_t)taken;
  return true;
}
