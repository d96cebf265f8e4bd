#define _GNU_SOURCE
#include "changes/differ.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define PART 131072

int open_leaf(const struct node *node, const char *name) {
  int descriptor = openat(node->holder.directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0 || (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))) return descriptor;
  close(descriptor);
  errno = ESTALE;
  return -1;
}

static ssize_t read_part(int descriptor, uint8_t *part) {
  size_t length = 0;
  while (length < PART) {
    ssize_t count = read(descriptor, part + length, PART - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    length += (size_t)count;
  }
  return (ssize_t)length;
}

static int contents_differ(int one, int other, bool *result) {
  static uint8_t left[PART], right[PART];
  for (;;) {
    ssize_t count = read_part(one, left);
    ssize_t second = count < 0 ? -1 : read_part(other, right);
    if (count < 0 || second < 0) return errno;
    *result = count != second || memcmp(left, right, (size_t)count) != 0;
    if (*result || count < PART) return 0;
  }
}

static int files_differ(const struct node *before, const struct node *after, const char *name, struct reading *reading, bool *result) {
  uint64_t size = (uint64_t)after->status.st_size;
  *result = before->status.st_size != after->status.st_size || size > reading->file_limit || size > reading->left;
  if (*result || size == 0) return 0;
  reading->left -= size;
  int one = open_leaf(before, name);
  int other = one < 0 ? -1 : open_leaf(after, name);
  int error = one < 0 || other < 0 ? errno : contents_differ(one, other, result);
  if (one >= 0) close(one);
  if (other >= 0) close(other);
  return error;
}

static int links_differ(const struct node *before, const struct node *after, const char *name, bool *result) {
  char one[PATH_MAX], other[PATH_MAX];
  ssize_t length = readlinkat(before->holder.directory, name, one, sizeof one);
  ssize_t second = length < 0 ? -1 : readlinkat(after->holder.directory, name, other, sizeof other);
  if (length < 0 || second < 0) return errno;
  *result = length != second || memcmp(one, other, (size_t)length) != 0;
  return 0;
}

int differ(const struct node *before, const struct node *after, const char *name, struct reading *reading, bool *result) {
  const struct stat *one = &before->status, *other = &after->status;
  *result = false;
  if (before->holder.layer == after->holder.layer) return 0;
  // A link has no mode of its own.
  bool linked = S_ISLNK(one->st_mode) && S_ISLNK(other->st_mode);
  *result = one->st_uid != other->st_uid || one->st_gid != other->st_gid || (!linked && one->st_mode != other->st_mode) ||
            ((S_ISCHR(one->st_mode) || S_ISBLK(one->st_mode)) && one->st_rdev != other->st_rdev);
  if (*result) return 0;
  if (linked) return links_differ(before, after, name, result);
  return S_ISREG(other->st_mode) ? files_differ(before, after, name, reading, result) : 0;
}
