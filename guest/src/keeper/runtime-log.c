#define _GNU_SOURCE
#include "runtime-log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PART_BYTES (64u * 1024u)
#define MARK_BYTES 64u
#define TAIL_START (PART_BYTES + MARK_BYTES)
#define CHUNK_BYTES (16u * 1024u)

bool runtime_log_open(struct runtime_log *log) {
  *log = (struct runtime_log){open("runtime.log", O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600), 0, 0};
  return log->file >= 0;
}

static void append(struct runtime_log *log, const char *bytes, size_t length) {
  // A disk that is full must not end the sandbox: what cannot be written counts as dropped.
  ssize_t written = pwrite(log->file, bytes, length, (off_t)log->length);
  size_t kept = written > 0 ? (size_t)written : 0;
  log->length += kept;
  log->dropped += length - kept;
}

static void write_mark(struct runtime_log *log) {
  char mark[MARK_BYTES + 1];
  int length = snprintf(mark, sizeof mark, "\n[%llu bytes left out", (unsigned long long)log->dropped);
  memset(mark + length, ' ', MARK_BYTES - (size_t)length);
  memcpy(mark + MARK_BYTES - 2, "]\n", 2);
  if (pwrite(log->file, mark, MARK_BYTES, PART_BYTES) == (ssize_t)MARK_BYTES && log->length < TAIL_START) log->length = TAIL_START;
}

// Moves the last part down to where the end begins, and forgets what was between.
static void shorten(struct runtime_log *log) {
  char chunk[CHUNK_BYTES];
  uint64_t from = log->length - PART_BYTES;
  if (from <= TAIL_START) return;
  log->dropped += from - TAIL_START;
  uint64_t to = TAIL_START;
  ssize_t count;
  while ((count = pread(log->file, chunk, sizeof chunk, (off_t)from)) > 0) {
    if (pwrite(log->file, chunk, (size_t)count, (off_t)to) != count) break;
    from += (uint64_t)count;
    to += (uint64_t)count;
  }
  log->length = to;
  if (ftruncate(log->file, (off_t)to) == 0) write_mark(log);
}

static void add(struct runtime_log *log, const char *bytes, size_t length) {
  if (log->length < PART_BYTES) {
    size_t head = PART_BYTES - log->length < length ? (size_t)(PART_BYTES - log->length) : length;
    append(log, bytes, head);
    bytes += head;
    length -= head;
  }
  if (length == 0) return;
  if (log->length == PART_BYTES) write_mark(log);
  append(log, bytes, length);
  if (log->length > TAIL_START + 2 * PART_BYTES) shorten(log);
}

bool runtime_log_take(struct runtime_log *log, int source) {
  char chunk[CHUNK_BYTES];
  ssize_t count = read(source, chunk, sizeof chunk);
  if (count > 0) add(log, chunk, (size_t)count);
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

void runtime_log_close(struct runtime_log *log) {
  if (log->length > TAIL_START + PART_BYTES) shorten(log);
  close(log->file);
}
