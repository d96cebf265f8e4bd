#define _GNU_SOURCE
#include "tree-record.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

// From linux/openat2.h, which a musl toolchain may lack.
#define CALL_OPENAT2 437
#define RESOLVE_IN_ONE_PLACE (0x01u | 0x04u | 0x08u) // no other mount, no symlink, beneath
struct open_how {
  uint64_t flags, mode, resolve;
};

// The times of a directory change with every entry that is made in it: they are set at the end.
struct late_times {
  struct late_times *next;
  struct timespec modified;
  char path[];
};

struct unpacking {
  int root, input;
  bool owners;
  struct record record;
  struct late_times *late;
  struct failure *failure;
};

static bool fail_at(struct unpacking *unpacking) { return fail_with(unpacking->failure, errno, "unpack of %.200s", unpacking->record.path); }

static int open_beneath(int root, const char *path, uint64_t flags) {
  struct open_how how = {.flags = flags | O_CLOEXEC | O_NOFOLLOW, .resolve = RESOLVE_IN_ONE_PLACE};
  return (int)syscall(CALL_OPENAT2, root, path, &how, sizeof how);
}

// The directory that holds the last name of a path, and that name. -1 with errno set.
static int open_parent(int root, char *path, const char **name) {
  char *slash = strrchr(path, '/');
  *name = slash ? slash + 1 : path;
  errno = EINVAL;
  if (**name == 0 || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0) return -1;
  if (!slash) return open_beneath(root, ".", O_PATH | O_DIRECTORY);
  *slash = 0;
  int parent = open_beneath(root, path, O_PATH | O_DIRECTORY);
  *slash = '/';
  return parent;
}

static bool set_attributes(int descriptor, const struct record *record) {
  const uint8_t *at = record->attributes, *end = at + record->attributes_length;
  while (at < end) {
    char name[256];
    errno = EPROTO;
    if (end - at < 4) return false;
    size_t named = (size_t)(at[0] | at[1] << 8), length = (size_t)(at[2] | at[3] << 8);
    if ((size_t)(end - at) < 4 + named + length || named >= sizeof name) return false;
    memcpy(name, at + 4, named);
    name[named] = 0;
    // SAFETY: others mean something to the kernel or to an overlay.
    if (strncmp(name, "user.", 5) != 0 || strncmp(name, "user.overlay.", 13) == 0) return false;
    if (fsetxattr(descriptor, name, at + 4 + named, length, 0) != 0 && errno != EOPNOTSUPP) return false;
    at += 4 + named + length;
  }
  return true;
}

static bool set_properties(struct unpacking *unpacking, int descriptor) {
  const struct record *record = &unpacking->record;
  const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {record->seconds, (long)record->nanoseconds}};
  const char *opaque = unpacking->owners ? "trusted.overlay.opaque" : "user.overlay.opaque";
  if (unpacking->owners && fchown(descriptor, record->user, record->group) != 0) return false;
  if ((record->flags & RECORD_OPAQUE) && fsetxattr(descriptor, opaque, "y", 1, 0) != 0) return false;
  return set_attributes(descriptor, record) && fchmod(descriptor, record->mode & 07777) == 0 && futimens(descriptor, times) == 0;
}

static bool take_segments(struct unpacking *unpacking, int file) {
  static char bytes[1024 * 1024];
  for (uint32_t i = 0; i < unpacking->record.segment_count; i++) {
    struct segment left = unpacking->record.segments[i];
    while (left.length > 0) {
      size_t count = left.length < sizeof bytes ? (size_t)left.length : sizeof bytes;
      if (!stream_read(unpacking->input, bytes, count)) return false;
      for (size_t done = 0; done < count;) {
        ssize_t written = pwrite(file, bytes + done, count - done, (off_t)(left.offset + done));
        if (written < 0) return false;
        done += (size_t)written;
      }
      left.offset += count;
      left.length -= count;
    }
  }
  return ftruncate(file, (off_t)unpacking->record.size) == 0;
}

static bool unpack_file(struct unpacking *unpacking, int parent, const char *name) {
  int file = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return false;
  bool done = take_segments(unpacking, file) && set_properties(unpacking, file);
  int number = errno;
  close(file);
  errno = number;
  return done;
}

static bool unpack_directory(struct unpacking *unpacking, int parent, const char *name) {
  const struct record *record = &unpacking->record;
  if (mkdirat(parent, name, 0700) != 0) return false;
  int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) return false;
  bool done = set_properties(unpacking, directory);
  int number = errno;
  close(directory);
  struct late_times *late = malloc(sizeof *late + strlen(record->path) + 1);
  errno = late ? number : ENOMEM;
  if (!late) return false;
  *late = (struct late_times){.next = unpacking->late, .modified = {record->seconds, (long)record->nanoseconds}};
  strcpy(late->path, record->path);
  unpacking->late = late;
  return done;
}

static bool unpack_link(struct unpacking *unpacking, int parent, const char *name) {
  const char *first;
  int from = open_parent(unpacking->root, unpacking->record.target, &first);
  if (from < 0) return false;
  struct stat status;
  bool done = fstatat(from, first, &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (done && !S_ISREG(status.st_mode)) {
    errno = EINVAL;
    done = false;
  }
  done = done && linkat(from, first, parent, name, 0) == 0;
  int number = errno;
  close(from);
  errno = number;
  return done;
}

static bool unpack_node(struct unpacking *unpacking, int parent, const char *name) {
  const struct record *record = &unpacking->record;
  const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {record->seconds, (long)record->nanoseconds}};
  int result = -1;
  // SAFETY: the only device is that of a whiteout, which no process can open.
  if (record->type == RECORD_SYMLINK) result = symlinkat(record->target, parent, name);
  else result = mknodat(parent, name, (record->type == RECORD_FIFO ? S_IFIFO : S_IFCHR) | (record->mode & 0777), 0);
  if (result != 0) return false;
  if (unpacking->owners && fchownat(parent, name, record->user, record->group, AT_SYMLINK_NOFOLLOW) != 0) return false;
  return utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool unpack_entry(struct unpacking *unpacking) {
  const char *name;
  int parent = open_parent(unpacking->root, unpacking->record.path, &name);
  if (parent < 0) return false;
  bool done = false;
  switch (unpacking->record.type) {
  case RECORD_DIRECTORY: done = unpack_directory(unpacking, parent, name); break;
  case RECORD_FILE: done = unpack_file(unpacking, parent, name); break;
  case RECORD_HARD_LINK: done = unpack_link(unpacking, parent, name); break;
  case RECORD_SYMLINK:
  case RECORD_WHITEOUT:
  case RECORD_FIFO: done = unpack_node(unpacking, parent, name); break;
  default: errno = EPROTO;
  }
  int number = errno;
  close(parent);
  errno = number;
  return done;
}

static void set_late(struct unpacking *unpacking) {
  for (struct late_times *late = unpacking->late; late;) {
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, late->modified};
    int directory = open_beneath(unpacking->root, late->path, O_RDONLY | O_DIRECTORY);
    // A wrong time harms nobody.
    if (directory >= 0) {
      (void)futimens(directory, times);
      close(directory);
    }
    struct late_times *next = late->next;
    free(late);
    late = next;
  }
}

bool tree_unpack(int root, int descriptor, bool owners, struct failure *failure) {
  struct unpacking *unpacking = calloc(1, sizeof *unpacking);
  if (!unpacking) return fail_with(failure, ENOMEM, "unpack");
  *unpacking = (struct unpacking){.root = root, .input = descriptor, .owners = owners, .failure = failure};
  bool done = true;
  for (;;) {
    done = tree_record_read(descriptor, &unpacking->record);
    if (done && unpacking->record.type == RECORD_END) break;
    done = done && unpack_entry(unpacking);
    if (!done) break;
  }
  if (!done) fail_at(unpacking);
  set_late(unpacking);
  free(unpacking);
  return done;
}
