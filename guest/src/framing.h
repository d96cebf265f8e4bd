// Cuts the incoming bytes into frames, and finds the way back after bytes that were none.
#ifndef HEARTH_FRAMING_H
#define HEARTH_FRAMING_H
#include "wire.h"

struct frame {
  bool valid;  // false: bytes were skipped
  struct frame_header header;
  struct slice payload;
};

// Returns how many bytes were taken; 0 when more are needed.
size_t framing_next(const uint8_t *bytes, size_t length, struct frame *frame);
#endif
