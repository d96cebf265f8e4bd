#define _GNU_SOURCE
#include "link-names.h"
#include "tree-entry.h"
#include "tree-record.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define DEPTH 2048

struct packing {
  int output;
  struct record record;
  struct link_names links;
  struct failure *failure;
};

static bool fail_at(struct packing *packing) { return fail_with(packing->failure, errno, "pack of %.200s", packing->record.path); }

static void describe(struct record *record, uint8_t type, const struct stat *status) {
  record->type = type;
  record->flags = 0;
  record->mode = status->st_mode & 07777;
  record->user = status->st_uid;
  record->group = status->st_gid;
  record->seconds = status->st_mtim.tv_sec;
  record->nanoseconds = (uint32_t)status->st_mtim.tv_nsec;
  record->size = type == RECORD_FILE ? (uint64_t)status->st_size : 0;
  record->target[0] = 0;
  record->attributes_length = 0;
  record->segment_count = 0;
}

// Those of users. The one note of an overlay that matters is a flag.
static bool find_attributes(int descriptor, struct record *record) {
  static char names[65536], value[65536];
  ssize_t length = flistxattr(descriptor, names, sizeof names);
  if (length < 0) return errno == EOPNOTSUPP;
  for (char *name = names; name < names + length; name += strlen(name) + 1) {
    if (strncmp(name, "user.", 5) != 0 || strncmp(name, "user.overlay.", 13) == 0) continue;
    ssize_t size = fgetxattr(descriptor, name, value, sizeof value);
    size_t named = strlen(name);
    errno = E2BIG;
    if (size < 0 || size > 65535 || record->attributes_length + 4 + named + (size_t)size > sizeof record->attributes) return false;
    uint8_t *at = record->attributes + record->attributes_length;
    uint8_t head[4] = {(uint8_t)named, (uint8_t)(named >> 8), (uint8_t)size, (uint8_t)(size >> 8)};
    memcpy(at, head, 4);
    memcpy(at + 4, name, named);
    memcpy(at + 4 + named, value, (size_t)size);
    record->attributes_length += (uint32_t)(4 + named + (size_t)size);
  }
  return true;
}

static void find_segments(int descriptor, struct record *record) {
  off_t size = (off_t)record->size;
  for (off_t start = 0; start < size;) {
    off_t data = lseek(descriptor, start, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return;
    if (data < 0) data = start;
    off_t hole = lseek(descriptor, data, SEEK_HOLE);
    bool last = record->segment_count == RECORD_SEGMENTS - 1;
    off_t end = last || hole <= data || hole > size ? size : hole;
    record->segments[record->segment_count++] = (struct segment){(uint64_t)data, (uint64_t)(end - data)};
    start = end;
  }
}

static bool send_segments(int descriptor, struct packing *packing) {
  static char bytes[1024 * 1024];
  for (uint32_t i = 0; i < packing->record.segment_count; i++) {
    struct segment left = packing->record.segments[i];
    while (left.length > 0) {
      size_t wanted = left.length < sizeof bytes ? (size_t)left.length : sizeof bytes;
      ssize_t count = pread(descriptor, bytes, wanted, (off_t)left.offset);
      if (count == 0) errno = EIO;
      if (count <= 0 || !stream_write(packing->output, bytes, (size_t)count)) return false;
      left.offset += (uint64_t)count;
      left.length -= (uint64_t)count;
    }
  }
  return true;
}

static bool pack_file(struct packing *packing, int directory, const char *name) {
  struct stat status;
  int file = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  bool done = file >= 0 && fstat(file, &status) == 0;
  if (done) {
    describe(&packing->record, RECORD_FILE, &status);
    done = find_attributes(file, &packing->record);
    find_segments(file, &packing->record);
    done = done && tree_record_write(packing->output, &packing->record) && send_segments(file, packing);
  }
  if (!done) fail_at(packing);
  if (file >= 0) close(file);
  return done;
}

static bool pack_below(struct packing *packing, int directory, int depth);

static bool pack_directory(struct packing *packing, int parent, const char *name, const struct stat *status, int depth) {
  int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) return fail_at(packing);
  describe(&packing->record, RECORD_DIRECTORY, status);
  if (tree_is_opaque(directory)) packing->record.flags = RECORD_OPAQUE;
  bool done = (find_attributes(directory, &packing->record) && tree_record_write(packing->output, &packing->record)) || fail_at(packing);
  done = done && pack_below(packing, directory, depth + 1);
  close(directory);
  return done;
}

static bool pack_node(struct packing *packing, int directory, const char *name, const struct stat *status) {
  struct record *record = &packing->record;
  if (S_ISLNK(status->st_mode)) {
    describe(record, RECORD_SYMLINK, status);
    ssize_t length = readlinkat(directory, name, record->target, sizeof record->target - 1);
    if (length < 0) return fail_at(packing);
    record->target[length] = 0;
  } else if (S_ISCHR(status->st_mode) && status->st_rdev == 0) {
    describe(record, RECORD_WHITEOUT, status);
  } else if (S_ISFIFO(status->st_mode)) {
    describe(record, RECORD_FIFO, status);
  } else {
    // A socket is nobody's after its process; a device means nothing in a sandbox.
    return true;
  }
  return tree_record_write(packing->output, record) || fail_at(packing);
}

static bool pack_entry(struct packing *packing, int directory, const char *name, int depth) {
  struct stat status;
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return fail_at(packing);
  if (S_ISDIR(status.st_mode)) return pack_directory(packing, directory, name, &status, depth);
  if (!S_ISREG(status.st_mode)) return pack_node(packing, directory, name, &status);
  const char *first = link_names_find(&packing->links, &status, packing->record.path);
  if (!first) return pack_file(packing, directory, name);
  describe(&packing->record, RECORD_HARD_LINK, &status);
  strcpy(packing->record.target, first);
  return tree_record_write(packing->output, &packing->record) || fail_at(packing);
}

static bool pack_below(struct packing *packing, int directory, int depth) {
  char *path = packing->record.path;
  size_t length = strlen(path);
  int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = again < 0 || depth > DEPTH ? NULL : fdopendir(again);
  if (!stream) {
    if (again >= 0) close(again);
    errno = depth > DEPTH ? ENAMETOOLONG : errno;
    return fail_at(packing);
  }
  bool done = true;
  struct dirent *entry;
  while (done && (entry = readdir(stream))) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || (depth == 0 && strcmp(entry->d_name, "work") == 0)) continue;
    int written = snprintf(path + length, PATH_MAX - length, "%s%s", length > 0 ? "/" : "", entry->d_name);
    errno = ENAMETOOLONG;
    done = (size_t)written < PATH_MAX - length ? pack_entry(packing, directory, entry->d_name, depth) : fail_at(packing);
    path[length] = 0;
  }
  closedir(stream);
  return done;
}

bool tree_pack(int root, int descriptor, struct failure *failure) {
  struct packing *packing = calloc(1, sizeof *packing);
  if (!packing) return fail_with(failure, ENOMEM, "pack");
  packing->output = descriptor;
  packing->failure = failure;
  bool done = pack_below(packing, root, 0);
  struct stat nothing = {0};
  describe(&packing->record, RECORD_END, &nothing);
  done = done && (tree_record_write(descriptor, &packing->record) || fail_at(packing));
  link_names_release(&packing->links);
  free(packing);
  return done;
}
