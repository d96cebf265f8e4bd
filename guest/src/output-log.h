// What a process has written, both streams in one order: a ring with absolute offsets.
#ifndef HEARTH_OUTPUT_LOG_H
#define HEARTH_OUTPUT_LOG_H
#include <stdbool.h>
#include <sys/uio.h>

#include "wire.h"

struct segment {
  uint64_t end;
  uint8_t stream;
};

// Bytes [start, end) are retained. Memory is taken by the first byte and touched only as far as bytes came.
struct output_log {
  uint8_t *bytes;
  struct segment *segments;
  uint64_t start, end;
  uint32_t capacity;
  uint32_t segment_first, segment_count, segment_capacity;
};

void log_open(struct output_log *log, uint32_t capacity);
void log_close(struct output_log *log);
// Gives the bytes back but keeps the offsets: everything counts as dropped.
void log_drop_all(struct output_log *log);
// Room for new bytes when those from kept_from on must stay. Fills vectors for readv (how many in *count); 0 when there is none.
uint32_t log_space(struct output_log *log, uint64_t kept_from, uint32_t limit, struct iovec vectors[2], int *count);
// Takes over bytes that were read into the vectors.
void log_commit(struct output_log *log, uint8_t stream, uint32_t length);
// Copies the first bytes in. Where there is no memory for them they count as dropped.
void log_append(struct output_log *log, uint8_t stream, struct slice bytes);
// The bytes of one stream from an offset on, as far as they lie together.
struct slice log_peek(struct output_log *log, uint64_t offset, uint32_t limit, uint8_t *stream);
uint64_t log_memory(const struct output_log *log);
#endif
