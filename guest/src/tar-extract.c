#define _GNU_SOURCE
#include "tar-extract.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "beneath.h"
#include "paths.h"
#include "tar-format.h"
#include "whole-io.h"
#include "tar-reader.h"

#define LATER_LIMIT 1048576u

// Directories get their mode and time at the end: until then they must be writable, and filling them changes the time.
struct later {
  struct later *next;
  uint32_t mode;
  uint64_t modified;
  char name[];
};

struct extraction {
  struct tar_reader reader;
  struct tar_entry entry;
  int root;
  const struct user *user;
  uint64_t written;
  struct later *later;
  uint32_t later_count;
};

static struct timespec *times_of(uint64_t modified, struct timespec times[2]) {
  if (modified > INT32_MAX * 128ull) modified = 0;
  times[0] = times[1] = (struct timespec){(time_t)modified, 0};
  return times;
}

static int copy_content(struct extraction *extraction, int descriptor) {
  for (uint64_t left = extraction->entry.size; left;) {
    const uint8_t *bytes;
    int count = tar_reader_content(&extraction->reader, &bytes, left);
    if (count <= 0) return count < 0 ? -count : EBADMSG;
    int error = write_whole(descriptor, bytes, (size_t)count);
    if (error) return error;
    left -= (uint64_t)count;
    extraction->written += (uint64_t)count;
  }
  return 0;
}

// What was there goes first, so that nothing is ever written through a link of any kind.
static int make_room(int parent, const char *name) {
  if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;
  return unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 0 : errno == ENOTDIR ? EPERM : errno;
}

static int extract_file(struct extraction *extraction, int parent, const char *name) {
  struct tar_entry *entry = &extraction->entry;
  struct timespec times[2];
  int error = make_room(parent, name);
  if (error) return error;
  int descriptor = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0) return errno;
  error = copy_content(extraction, descriptor);
  if (!error) error = path_give(descriptor, extraction->user);
  if (!error && fchmod(descriptor, entry->mode) != 0) error = errno;
  if (!error) futimens(descriptor, times_of(entry->modified, times));
  if (close(descriptor) != 0 && !error) error = errno;
  return error;
}

static int remember(struct extraction *extraction) {
  struct tar_entry *entry = &extraction->entry;
  size_t length = strlen(entry->name) + 1;
  if (extraction->later_count == LATER_LIMIT) return EOVERFLOW;
  struct later *later = malloc(sizeof *later + length);
  if (!later) return ENOMEM;
  later->mode = entry->mode;
  later->modified = entry->modified;
  later->next = extraction->later;
  memcpy(later->name, entry->name, length);
  extraction->later = later;
  extraction->later_count++;
  return 0;
}

static int extract_directory(struct extraction *extraction, int parent, const char *name) {
  if (mkdirat(parent, name, 0700 | (extraction->entry.mode & 0777)) != 0) {
    struct stat status;
    if (errno != EEXIST) return errno;
    if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno;
    return S_ISDIR(status.st_mode) ? remember(extraction) : EEXIST;
  }
  int descriptor = open_directory_at(parent, name);
  if (descriptor < 0) return errno;
  int error = path_give(descriptor, extraction->user);
  close(descriptor);
  return error ? error : remember(extraction);
}

static int extract_hard_link(struct extraction *extraction, int parent, const char *name) {
  int source;
  char source_name[256];
  int error = beneath_parent(extraction->root, extraction->entry.link, NULL, &source, source_name);
  if (error) return error;
  if (!source_name[0]) error = EINVAL;
  struct stat old, new;
  bool same = !error && fstatat(source, source_name, &old, AT_SYMLINK_NOFOLLOW) == 0 && fstatat(parent, name, &new, AT_SYMLINK_NOFOLLOW) == 0 &&
              old.st_dev == new.st_dev && old.st_ino == new.st_ino;
  if (!error && !same) error = make_room(parent, name);
  if (!error && !same && linkat(source, source_name, parent, name, 0) != 0) error = errno;
  close(source);
  return error;
}

// Gives a symlink or a fifo to the user; where only one user exists it is that one's.
static int give_name(struct extraction *extraction, int parent, const char *name) {
  if (fchownat(parent, name, extraction->user->uid, extraction->user->gid, AT_SYMLINK_NOFOLLOW) == 0) return 0;
  return errno == EPERM || errno == EINVAL ? 0 : errno;
}

static int extract_symlink(struct extraction *extraction, int parent, const char *name) {
  int error = make_room(parent, name);
  if (error) return error;
  if (symlinkat(extraction->entry.link, parent, name) != 0) return errno;
  return give_name(extraction, parent, name);
}

static int extract_fifo(struct extraction *extraction, int parent, const char *name) {
  int error = make_room(parent, name);
  if (error) return error;
  if (mkfifoat(parent, name, extraction->entry.mode & 0777) != 0) return errno;
  return give_name(extraction, parent, name);
}

static int extract_named(struct extraction *extraction, int parent, const char *name) {
  switch (extraction->entry.type) {
    case 0:
    case '0':
    case '7':
      return extract_file(extraction, parent, name);
    case '1':
      return extract_hard_link(extraction, parent, name);
    case '2':
      return extract_symlink(extraction, parent, name);
    case '5':
      return extract_directory(extraction, parent, name);
    case '6':
      return extract_fifo(extraction, parent, name);
    case '3':
    case '4':
      return EPERM;  // a device is a way out of the sandbox's own files
    default:
      return EOPNOTSUPP;
  }
}

static bool has_content(char type) { return type == 0 || type == '0' || type == '7'; }

static int extract_entry(struct extraction *extraction) {
  struct tar_entry *entry = &extraction->entry;
  size_t length = strlen(entry->name);
  if (entry->type == 0 && length && entry->name[length - 1] == '/') entry->type = '5';
  int parent;
  char name[256];
  int error = beneath_parent(extraction->root, entry->name, extraction->user, &parent, name);
  if (error) return error;
  // The root's own entry: it exists, and its mode is not the archive's business.
  bool is_root = !name[0];
  if (is_root) error = entry->type == '5' ? 0 : EINVAL;
  else error = extract_named(extraction, parent, name);
  close(parent);
  if (error) return error;
  uint64_t padding = (TAR_BLOCK - entry->size % TAR_BLOCK) % TAR_BLOCK;
  return -tar_reader_skip(&extraction->reader, has_content(entry->type) ? padding : entry->size + padding);
}

// A later entry may have put something else in its place.
static int unless_replaced(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP || error == EXDEV ? 0 : error; }

static int finish_directory(struct extraction *extraction, const struct later *later) {
  int parent;
  char name[256];
  struct timespec times[2];
  int error = beneath_parent(extraction->root, later->name, NULL, &parent, name);
  if (error) return unless_replaced(error);
  int descriptor = open_directory_at(parent, name);
  error = errno;
  close(parent);
  if (descriptor < 0) return unless_replaced(error);
  error = fchmod(descriptor, later->mode) != 0 || futimens(descriptor, times_of(later->modified, times)) != 0 ? errno : 0;
  close(descriptor);
  return error;
}

// All of them, also after a failure. The first failure of all counts, and its name.
static int finish_directories(struct extraction *extraction, int error) {
  for (struct later *later = extraction->later, *next; later; later = next) {
    next = later->next;
    int failed = finish_directory(extraction, later);
    if (failed && !error) {
      error = failed;
      snprintf(extraction->entry.name, sizeof extraction->entry.name, "%s", later->name);
    }
    free(later);
  }
  return error;
}

int tar_extract(int directory, int input, const struct user *user, uint64_t *written, char *what, uint32_t what_size) {
  struct extraction *extraction = calloc(1, sizeof *extraction);
  if (!extraction) return ENOMEM;
  extraction->root = directory;
  extraction->reader.input = input;
  extraction->user = user;
  int error = 0, found = 1;
  while (!error && (found = tar_reader_next(&extraction->reader, &extraction->entry)) > 0) error = extract_entry(extraction);
  if (!error && found < 0) error = -found;
  error = finish_directories(extraction, error);
  const uint8_t *rest;
  // The sender may add more empty blocks; it must not find the pipe closed.
  while (!error && tar_reader_content(&extraction->reader, &rest, UINT32_MAX) > 0) continue;
  *written = extraction->written;
  snprintf(what, what_size, "%s", extraction->entry.name[0] ? extraction->entry.name : "archive");
  free(extraction);
  return error;
}
