#include "framing.h"

#include "messages.gen.h"
#include "session.h"

// After a header that breaks the rules the boundaries of frames are unknown: only a whole Hello is believed.
static bool lost;

static bool is_hello(const struct frame *frame) {
  struct message_hello hello;
  return frame->header.type == MESSAGE_HELLO && frame->header.channel == 0 && decode_hello(frame->payload, &hello);
}

static bool may_be_hello(const struct frame_header *header) {
  return header->type == MESSAGE_HELLO && header->channel == 0 && header->length >= 8 && header->length <= 8 + HELLO_NONCE_LIMIT;
}

static size_t find_hello(const uint8_t *bytes, size_t length, struct frame *frame) {
  frame->valid = false;
  for (size_t at = 0; at + HEADER_BYTES <= length; at++) {
    if (!wire_parse_header(bytes + at, &frame->header) || !may_be_hello(&frame->header)) continue;
    if (length - at - HEADER_BYTES < frame->header.length) return at;
    frame->payload = (struct slice){bytes + at + HEADER_BYTES, frame->header.length};
    if (!is_hello(frame)) continue;
    frame->valid = true;
    lost = false;
    return at + HEADER_BYTES + frame->header.length;
  }
  return length < HEADER_BYTES ? 0 : length - HEADER_BYTES + 1;
}

size_t framing_next(const uint8_t *bytes, size_t length, struct frame *frame) {
  if (lost) return find_hello(bytes, length, frame);
  if (length < HEADER_BYTES) return 0;
  if (!wire_parse_header(bytes, &frame->header)) {
    lost = true;
    session_violation();
    return find_hello(bytes, length, frame);
  }
  if (length - HEADER_BYTES < frame->header.length) return 0;
  frame->payload = (struct slice){bytes + HEADER_BYTES, frame->header.length};
  frame->valid = true;
  return HEADER_BYTES + frame->header.length;
}
