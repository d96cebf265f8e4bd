#define _GNU_SOURCE
#include "bulk-file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define CACHED_BYTES (1u << 20)   // what every file has in the page cache; a multiple of the alignment
#define STAGE_BYTES (256u << 10)  // one write past the cache
#define STAGE_LIMIT 8             // files at once that go past it
#define ALIGNMENT 4096u           // of memory, offset and length: a block of any file system here

static bool bypass;
static uint32_t stage_count;

void bulk_file_bypass_cache(void) { bypass = true; }

static int write_all(int descriptor, const uint8_t *bytes, size_t length, size_t *done) {
  for (*done = 0; *done < length;) {
    ssize_t count = write(descriptor, bytes + *done, length - *done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : ENOSPC;
    *done += (size_t)count;
  }
  return 0;
}

static bool set_direct(int descriptor, bool direct) {
  int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && fcntl(descriptor, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

void bulk_file_release(struct bulk_file *file) {
  if (!file->staged) return;
  munmap(file->staged, STAGE_BYTES);
  file->staged = NULL;
  stage_count--;
}

// Memory file systems refuse, and then nothing changes.
static void leave_cache(struct bulk_file *file, int descriptor) {
  file->refused = true;
  if (!bypass || stage_count == STAGE_LIMIT) return;
  void *stage = mmap(NULL, STAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stage == MAP_FAILED) return;
  if (!set_direct(descriptor, true)) {
    munmap(stage, STAGE_BYTES);
    return;
  }
  file->staged = stage;
  file->staged_length = 0;
  stage_count++;
}

// What is not a whole block, and what the file system does not take this way, goes through the cache after all.
static int flush(struct bulk_file *file, int descriptor) {
  size_t whole = file->staged_length & ~(ALIGNMENT - 1), done = 0;
  int error = write_all(descriptor, file->staged, whole, &done);
  if (error && error != EINVAL) return error;
  if (!error && whole == STAGE_BYTES) return 0;
  if (!set_direct(descriptor, false)) return errno;
  size_t rest = file->staged_length - done, ignored;
  error = write_all(descriptor, file->staged + done, rest, &ignored);
  bulk_file_release(file);
  return error;
}

static int write_staged(struct bulk_file *file, int descriptor, struct slice *bytes) {
  uint32_t room = STAGE_BYTES - file->staged_length, count = bytes->length < room ? bytes->length : room;
  memcpy(file->staged + file->staged_length, bytes->bytes, count);
  file->staged_length += count;
  *bytes = (struct slice){bytes->bytes + count, bytes->length - count};
  if (file->staged_length < STAGE_BYTES) return 0;
  int error = flush(file, descriptor);
  file->staged_length = 0;
  return error;
}

static int write_cached(struct bulk_file *file, int descriptor, struct slice *bytes) {
  uint64_t room = CACHED_BYTES - file->cached;
  size_t count = file->refused || bytes->length < room ? bytes->length : room, done;
  int error = write_all(descriptor, bytes->bytes, count, &done);
  *bytes = (struct slice){bytes->bytes + done, bytes->length - (uint32_t)done};
  file->cached += done;
  if (!file->refused && file->cached == CACHED_BYTES) leave_cache(file, descriptor);
  return error;
}

int bulk_file_write(struct bulk_file *file, int descriptor, struct slice bytes) {
  int error = 0;
  while (bytes.length && !error) error = file->staged ? write_staged(file, descriptor, &bytes) : write_cached(file, descriptor, &bytes);
  return error;
}

int bulk_file_finish(struct bulk_file *file, int descriptor) { return file->staged ? flush(file, descriptor) : 0; }
