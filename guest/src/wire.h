// Primitives of the link's encoding: bounded reads, growing writes. See protocol.md.
#ifndef HEARTH_WIRE_H
#define HEARTH_WIRE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 12u
#define FRAME_BYTES (128u * 1024u)

// Bytes that belong to somebody else, usually to a frame. Not terminated.
struct slice {
  const uint8_t *bytes;
  uint32_t length;
};

// A validated list of length-prefixed strings. Walk it with slice_list_next.
struct slice_list {
  const uint8_t *bytes;
  uint32_t length;
  uint32_t count;
};

struct reader {
  const uint8_t *at;
  size_t left;
  bool ok;
};

// A growing byte buffer. `failed` is set when memory ran out; the content is then useless.
struct buffer {
  uint8_t *bytes;
  size_t length;
  size_t capacity;
  bool failed;
};

struct frame_header {
  uint32_t length;
  uint8_t type;
  uint32_t channel;
};

static inline uint32_t wire_load_u32(const uint8_t *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void wire_store_u32(uint8_t *p, uint32_t v) {
  p[0] = (uint8_t)v;
  p[1] = (uint8_t)(v >> 8);
  p[2] = (uint8_t)(v >> 16);
  p[3] = (uint8_t)(v >> 24);
}

// False when the header cannot be one: too long, or its reserved bytes are not zero.
static inline bool wire_parse_header(const uint8_t *p, struct frame_header *header) {
  header->length = wire_load_u32(p);
  header->type = p[4];
  header->channel = wire_load_u32(p + 8);
  return header->length <= FRAME_BYTES && p[5] == 0 && p[6] == 0 && p[7] == 0;
}

static inline const uint8_t *wire_take(struct reader *r, size_t count) {
  static const uint8_t nothing[8];
  if (!r->ok || r->left < count) {
    r->ok = false;
    return nothing;
  }
  const uint8_t *at = r->at;
  r->at += count;
  r->left -= count;
  return at;
}

static inline uint8_t wire_read_u8(struct reader *r) { return *wire_take(r, 1); }

static inline uint16_t wire_read_u16(struct reader *r) {
  const uint8_t *p = wire_take(r, 2);
  return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t wire_read_u32(struct reader *r) { return wire_load_u32(wire_take(r, 4)); }

static inline int32_t wire_read_i32(struct reader *r) { return (int32_t)wire_read_u32(r); }

static inline uint64_t wire_read_u64(struct reader *r) {
  const uint8_t *p = wire_take(r, 8);
  return (uint64_t)wire_load_u32(p) | (uint64_t)wire_load_u32(p + 4) << 32;
}

static inline struct slice wire_read_bytes(struct reader *r) {
  uint32_t length = wire_read_u32(r);
  if (!r->ok || r->left < length) {
    r->ok = false;
    return (struct slice){NULL, 0};
  }
  return (struct slice){wire_take(r, length), length};
}

static inline struct slice wire_read_string(struct reader *r) { return wire_read_bytes(r); }

static inline struct slice_list wire_read_strings(struct reader *r) {
  struct slice_list list = {NULL, 0, wire_read_u32(r)};
  list.bytes = r->at;
  size_t before = r->left;
  for (uint32_t i = 0; i < list.count && r->ok; i++) wire_read_bytes(r);
  list.length = r->ok ? (uint32_t)(before - r->left) : 0;
  if (!r->ok) list.count = 0;
  return list;
}

static inline struct slice wire_read_rest(struct reader *r) {
  size_t length = r->ok ? r->left : 0;
  return (struct slice){wire_take(r, length), (uint32_t)length};
}

// Takes the next string off the list. Call it at most `count` times.
static inline struct slice slice_list_next(struct slice_list *list) {
  struct reader r = {list->bytes, list->length, true};
  struct slice item = wire_read_bytes(&r);
  list->bytes = r.at;
  list->length = (uint32_t)r.left;
  return item;
}

static inline struct slice slice_of(const char *text) { return (struct slice){(const uint8_t *)text, (uint32_t)strlen(text)}; }

static inline bool buffer_reserve(struct buffer *b, size_t more) {
  if (b->failed) return false;
  if (b->capacity - b->length >= more) return true;
  size_t capacity = b->capacity ? b->capacity : 256;
  while (capacity - b->length < more) capacity *= 2;
  uint8_t *bytes = realloc(b->bytes, capacity);
  if (!bytes) {
    b->failed = true;
    return false;
  }
  b->bytes = bytes;
  b->capacity = capacity;
  return true;
}

static inline void buffer_append(struct buffer *b, const void *bytes, size_t length) {
  if (length == 0 || !buffer_reserve(b, length)) return;
  memcpy(b->bytes + b->length, bytes, length);
  b->length += length;
}

static inline void wire_write_u8(struct buffer *b, uint8_t v) { buffer_append(b, &v, 1); }

static inline void wire_write_u16(struct buffer *b, uint16_t v) {
  uint8_t p[2] = {(uint8_t)v, (uint8_t)(v >> 8)};
  buffer_append(b, p, 2);
}

static inline void wire_write_u32(struct buffer *b, uint32_t v) {
  uint8_t p[4];
  wire_store_u32(p, v);
  buffer_append(b, p, 4);
}

static inline void wire_write_i32(struct buffer *b, int32_t v) { wire_write_u32(b, (uint32_t)v); }

static inline void wire_write_u64(struct buffer *b, uint64_t v) {
  wire_write_u32(b, (uint32_t)v);
  wire_write_u32(b, (uint32_t)(v >> 32));
}

static inline void wire_write_bytes(struct buffer *b, struct slice v) {
  wire_write_u32(b, v.length);
  buffer_append(b, v.bytes, v.length);
}

static inline void wire_write_string(struct buffer *b, struct slice v) { wire_write_bytes(b, v); }

static inline void wire_write_strings(struct buffer *b, struct slice_list v) {
  wire_write_u32(b, v.count);
  buffer_append(b, v.bytes, v.length);
}

static inline void wire_write_rest(struct buffer *b, struct slice v) { buffer_append(b, v.bytes, v.length); }

// Starts a frame and returns where it is; wire_end fills in its length.
static inline size_t wire_begin(struct buffer *b, uint8_t type, uint32_t channel) {
  size_t frame = b->length;
  uint8_t header[HEADER_BYTES] = {0};
  header[4] = type;
  wire_store_u32(header + 8, channel);
  buffer_append(b, header, HEADER_BYTES);
  return frame;
}

// False, and the frame taken back, when it came out too long or memory ran out.
static inline bool wire_end(struct buffer *b, size_t frame) {
  if (b->failed) return false;
  size_t payload = b->length - frame - HEADER_BYTES;
  if (payload > FRAME_BYTES) {
    b->length = frame;
    return false;
  }
  wire_store_u32(b->bytes + frame, (uint32_t)payload);
  return true;
}
#endif
