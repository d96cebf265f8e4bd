#define _GNU_SOURCE
#include "changes/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "beneath.h"
#include "file-remove.h"

int set_owner(int directory, const char *name, uint32_t uid, uint32_t gid) {
  if (fchownat(directory, name, uid, gid, AT_SYMLINK_NOFOLLOW) == 0) return 0;
  // Where only one user exists it stays with that one.
  return errno == EPERM || errno == EINVAL ? 0 : errno;
}

// A time that the file system cannot hold is not worth a merge.
void set_modified(int directory, const char *name, int64_t modified) {
  int64_t seconds = modified / 1000000000, rest = modified % 1000000000;
  if (rest < 0) seconds--, rest += 1000000000;
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds, .tv_nsec = rest}};
  if (utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW) != 0) return;
}

int staging_open(struct staging *staging, int root) {
  uint64_t random;
  *staging = (struct staging){.root = root};
  if (getrandom(&random, sizeof random, 0) != sizeof random) return errno;
  snprintf(staging->name, sizeof staging->name, ".hearth-merge-%016llx", (unsigned long long)random);
  return 0;
}

static int add_stage(struct staging *staging, int parent, dev_t device) {
  if (staging->count == STAGES) return EXDEV;
  struct stage *stage = &staging->stages[staging->count];
  *stage = (struct stage){device, fcntl(parent, F_DUPFD_CLOEXEC, 0), -1};
  if (stage->parent < 0) return errno;
  int error = mkdirat(parent, staging->name, 0700) == 0 ? 0 : errno;
  if (!error && (stage->directory = open_directory_at(parent, staging->name)) < 0) error = errno;
  if (error) close(stage->parent);
  else staging->count++;
  return error;
}

// Goes down a path as far as directories lead. `top` is where the file system of the last one begins.
static int find_file_system(int root, const char *path, int *top, dev_t *device) {
  struct stat status;
  int at = fcntl(root, F_DUPFD_CLOEXEC, 0);
  *top = fcntl(root, F_DUPFD_CLOEXEC, 0);
  int error = at < 0 || *top < 0 || fstat(root, &status) != 0 ? errno : 0;
  *device = status.st_dev;
  for (const char *name = path, *slash; !error && (slash = strchr(name, '/')); name = slash + 1) {
    char part[256];
    size_t length = (size_t)(slash - name);
    if (length == 0 || length > 255) error = EINVAL;
    else snprintf(part, sizeof part, "%.*s", (int)length, name);
    int next = error ? -1 : open_directory_at(at, part);
    if (next < 0) break;
    close(at);
    at = next;
    if (fstat(at, &status) != 0) error = errno;
    if (status.st_dev == *device) continue;
    *device = status.st_dev;
    close(*top);
    *top = fcntl(at, F_DUPFD_CLOEXEC, 0);
  }
  if (at >= 0) close(at);
  return error;
}

int staging_for(struct staging *staging, const char *path, int *stage) {
  int top;
  dev_t device;
  int error = find_file_system(staging->root, path, &top, &device);
  for (*stage = 0; !error && *stage < staging->count && staging->stages[*stage].device != device;) (*stage)++;
  if (!error && *stage == staging->count) error = add_stage(staging, top, device);
  if (top >= 0) close(top);
  return error;
}

static int copy_content(int input, int output, uint64_t left) {
  static uint8_t part[65536];
  while (left) {
    ssize_t count = read(input, part, left < sizeof part ? (size_t)left : sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EBADMSG;
    left -= (uint64_t)count;
    for (ssize_t done = 0; done < count;) {
      ssize_t written = write(output, part + done, (size_t)(count - done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return written < 0 ? errno : ENOSPC;
      done += written;
    }
  }
  return 0;
}

static int make_file(int directory, const char *name, const struct operation *operation, int input) {
  int output = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (output < 0) return errno;
  int error = copy_content(input, output, operation->size);
  // The owner first: a change of owner takes the special bits of the mode away.
  if (!error) error = set_owner(directory, name, operation->uid, operation->gid);
  if (!error && fchmod(output, operation->mode) != 0) error = errno;
  return close(output) != 0 && !error ? errno : error;
}

int staging_make(const struct staging *staging, int stage, const char *name, const struct operation *operation, int input) {
  int directory = staging->stages[stage].directory, error = 0;
  if (operation->type == TYPE_FILE) error = make_file(directory, name, operation, input);
  else {
    int made = operation->type == TYPE_SYMLINK ? symlinkat(operation->target, directory, name) : mkfifoat(directory, name, operation->mode & 0777);
    if (made != 0) return errno;
    error = set_owner(directory, name, operation->uid, operation->gid);
  }
  if (!error) set_modified(directory, name, operation->modified);
  return error;
}

void staging_close(struct staging *staging) {
  for (int i = 0; i < staging->count; i++) {
    struct stage *stage = &staging->stages[i];
    int error = remove_below(stage->directory);
    if (!error && unlinkat(stage->parent, staging->name, AT_REMOVEDIR) != 0) error = errno;
    if (error) fprintf(stderr, "hearth-guest: %s: %s\n", staging->name, strerror(error));
    close(stage->parent);
  }
  staging->count = 0;
}
