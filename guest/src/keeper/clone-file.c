#define _GNU_SOURCE
#include "clone-file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

// FICLONE of linux/fs.h, which a musl toolchain does not have.
#define CALL_CLONE _IOW(0x94, 9, int)
#define CHUNK_BYTES (1u << 20)

static bool write_all(int target, const char *bytes, size_t length, off_t offset) {
  while (length > 0) {
    ssize_t count = pwrite(target, bytes, length, offset);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    offset += count;
    length -= (size_t)count;
  }
  return true;
}

static bool copy_range(int source, int target, off_t from, off_t to) {
  static char chunk[CHUNK_BYTES];
  while (from < to) {
    size_t wanted = to - from < (off_t)sizeof chunk ? (size_t)(to - from) : sizeof chunk;
    ssize_t count = pread(source, chunk, wanted, from);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = EIO;
    if (count <= 0 || !write_all(target, chunk, (size_t)count, from)) return false;
    from += count;
  }
  return true;
}

static bool copy_data(int source, int target, off_t size) {
  for (off_t end = 0; end < size;) {
    off_t start = lseek(source, end, SEEK_DATA);
    if (start < 0) return errno == ENXIO;
    end = lseek(source, start, SEEK_HOLE);
    if (end < 0 || !copy_range(source, target, start, end)) return false;
  }
  return true;
}

bool clone_descriptor(int source, int target, const char *what, struct failure *failure) {
  struct stat status;
  if (ioctl(target, CALL_CLONE, source) == 0) return true;
  // Any refusal means that the blocks cannot be shared; whether they can be copied is seen by trying.
  if (fstat(source, &status) != 0 || ftruncate(target, status.st_size) != 0 || !copy_data(source, target, status.st_size))
    return fail_with(failure, errno, "copy %s", what);
  return true;
}

bool clone_file(const char *source, const char *target, struct failure *failure) {
  int from = open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (from < 0) return fail_with(failure, errno, "copy %s", source);
  int to = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  bool made = to >= 0;
  bool copied = made ? clone_descriptor(from, to, target, failure) : fail_with(failure, errno, "copy %s", target);
  close(from);
  if (made) close(to);
  if (made && !copied) unlink(target);
  return copied;
}
