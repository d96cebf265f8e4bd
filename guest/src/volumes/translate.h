// Between the kernel's numbers and the host's paths.
#ifndef HEARTH_VOLUMES_TRANSLATE_H
#define HEARTH_VOLUMES_TRANSLATE_H
#include "pending.h"

struct translation {
  enum { TRANSLATED_SILENT, TRANSLATED_ANSWER, TRANSLATED_REQUEST } kind;
  int error;
  const void *body;
  const uint8_t *bytes;
  size_t length;
};

// Of a request whose arguments have room before them for its header and both paths, where its translation is written.
struct translation translate_request(struct volume *volume, const struct fuse_in_header *header, uint8_t *arguments, size_t length);
// What the kernel gets, in the place of the bytes or elsewhere until the next call.
const uint8_t *translate_answer(const struct pending *pending, uint8_t *bytes, size_t *length);
// What tells the host of held files that nobody has any more; length 0 when there is nothing to tell.
const uint8_t *translate_drops(size_t *length);
#endif
