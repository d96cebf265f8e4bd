#include "output-log.h"

#include <sys/mman.h>

#define SEGMENT_LIMIT 8192u

void log_open(struct output_log *log, uint32_t capacity) { *log = (struct output_log){.capacity = capacity}; }

void log_close(struct output_log *log) {
  if (log->bytes) munmap(log->bytes, log->capacity);
  free(log->segments);
  log->bytes = NULL;
  log->segments = NULL;
  log->segment_count = log->segment_capacity = 0;
}

void log_drop_all(struct output_log *log) {
  log_close(log);
  log->start = log->end;
}

uint64_t log_memory(const struct output_log *log) {
  if (!log->bytes) return 0;
  return log->end < log->capacity ? log->end : log->capacity;
}

static struct segment *segment_at(struct output_log *log, uint32_t index) {
  return &log->segments[(log->segment_first + index) & (log->segment_capacity - 1)];
}

static bool allocate(struct output_log *log) {
  if (log->bytes) return true;
  void *bytes = mmap(NULL, log->capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) return false;
  // Supervisors and workers never look at it; without this each fork would keep old pages alive.
  madvise(bytes, log->capacity, MADV_DONTFORK);
  log->bytes = bytes;
  return true;
}

static bool grow_segments(struct output_log *log) {
  if (log->segment_count < log->segment_capacity) return true;
  if (log->segment_capacity == SEGMENT_LIMIT) return false;
  uint32_t capacity = log->segment_capacity ? log->segment_capacity * 2 : 8;
  struct segment *segments = malloc(capacity * sizeof *segments);
  if (!segments) return false;
  for (uint32_t i = 0; i < log->segment_count; i++) segments[i] = *segment_at(log, i);
  free(log->segments);
  log->segments = segments;
  log->segment_capacity = capacity;
  log->segment_first = 0;
  return true;
}

static void drop_first_segment(struct output_log *log) {
  struct segment *first = segment_at(log, 0);
  if (log->start < first->end) log->start = first->end;
  log->segment_first = (log->segment_first + 1) & (log->segment_capacity - 1);
  log->segment_count--;
}

uint32_t log_space(struct output_log *log, uint64_t kept_from, uint32_t limit, struct iovec vectors[2], int *count) {
  if (kept_from < log->start) kept_from = log->start;
  uint64_t space = log->capacity - (log->end - kept_from);
  if (space > limit) space = limit;
  if (!allocate(log)) return 0;
  if (!grow_segments(log)) {
    if (!log->segments || segment_at(log, 0)->end > kept_from) return 0;
    drop_first_segment(log);
  }
  if (space == 0) return 0;
  uint32_t position = (uint32_t)(log->end % log->capacity);
  uint32_t first = log->capacity - position;
  if (first > space) first = (uint32_t)space;
  vectors[0] = (struct iovec){log->bytes + position, first};
  vectors[1] = (struct iovec){log->bytes, (size_t)space - first};
  *count = vectors[1].iov_len ? 2 : 1;
  return (uint32_t)space;
}

void log_commit(struct output_log *log, uint8_t stream, uint32_t length) {
  log->end += length;
  if (log->end - log->start > log->capacity) log->start = log->end - log->capacity;
  while (log->segment_count && segment_at(log, 0)->end <= log->start) drop_first_segment(log);
  struct segment *last = log->segment_count ? segment_at(log, log->segment_count - 1) : NULL;
  if (last && last->stream == stream) {
    last->end = log->end;
    return;
  }
  *segment_at(log, log->segment_count++) = (struct segment){log->end, stream};
}

void log_append(struct output_log *log, uint8_t stream, struct slice bytes) {
  struct iovec vectors[2];
  int count;
  if (log_space(log, log->end, bytes.length, vectors, &count) < bytes.length) {
    log->end += bytes.length;
    log->start = log->end;
    return;
  }
  memcpy(vectors[0].iov_base, bytes.bytes, vectors[0].iov_len);
  if (count == 2) memcpy(vectors[1].iov_base, bytes.bytes + vectors[0].iov_len, vectors[1].iov_len);
  log_commit(log, stream, bytes.length);
}

static uint32_t find_segment(struct output_log *log, uint64_t offset) {
  uint32_t low = 0, high = log->segment_count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (segment_at(log, middle)->end <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}

struct slice log_peek(struct output_log *log, uint64_t offset, uint32_t limit, uint8_t *stream) {
  if (offset < log->start || offset >= log->end || !log->bytes) return (struct slice){NULL, 0};
  struct segment *segment = segment_at(log, find_segment(log, offset));
  uint64_t length = segment->end - offset;
  uint32_t position = (uint32_t)(offset % log->capacity);
  if (length > log->capacity - position) length = log->capacity - position;
  if (length > limit) length = limit;
  *stream = segment->stream;
  return (struct slice){log->bytes + position, (uint32_t)length};
}
