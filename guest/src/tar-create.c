#define _GNU_SOURCE
#include "tar-create.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "tar-format.h"
#include "tar-writer.h"

#define NAME_BYTES 8192
#define DEPTH_LIMIT 512
#define LINK_SLOTS 16384u  // files with several names that are remembered; more become files of their own

struct linked {
  dev_t device;
  ino_t inode;
  char *name;
};

struct creation {
  struct buffered_output writer;
  char name[NAME_BYTES];  // of the entry in hand, relative to the root
  struct linked links[LINK_SLOTS];
};

static int add(struct creation *creation, int directory, const char *file, size_t name_length, int depth);

// The name under which the same file was written already, or NULL; then it is remembered.
static const char *earlier_name(struct creation *creation, const struct stat *status) {
  uint32_t slot = (uint32_t)(status->st_ino * 2654435761u ^ status->st_dev) % LINK_SLOTS;
  struct linked *linked = &creation->links[slot];
  if (linked->name) return linked->device == status->st_dev && linked->inode == status->st_ino ? linked->name : NULL;
  *linked = (struct linked){status->st_dev, status->st_ino, strdup(creation->name)};
  return NULL;
}

// The header has promised a size: a file that shrank is filled up, one that grew is cut.
static int copy_content(struct creation *creation, int descriptor, uint64_t size) {
  static uint8_t part[65536];
  for (uint64_t left = size; left;) {
    size_t wanted = left < sizeof part ? (size_t)left : sizeof part;
    ssize_t count = read(descriptor, part, wanted);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) {
      memset(part, 0, wanted);
      count = (ssize_t)wanted;
    }
    int error = buffered_bytes(&creation->writer, part, (size_t)count);
    if (error) return error;
    left -= (uint64_t)count;
  }
  return tar_writer_pad(&creation->writer, size);
}

static int add_file(struct creation *creation, int directory, const char *file) {
  int descriptor = openat(directory, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return errno == ENOENT || errno == ELOOP ? 0 : errno;
  struct stat status;
  int error = fstat(descriptor, &status) == 0 ? 0 : errno;
  if (!error && S_ISREG(status.st_mode)) {
    const char *earlier = status.st_nlink > 1 ? earlier_name(creation, &status) : NULL;
    uint64_t size = earlier ? 0 : (uint64_t)status.st_size;
    error = tar_writer_header(&creation->writer, earlier ? '1' : '0', creation->name, earlier, &status, size);
    if (!error && !earlier) error = copy_content(creation, descriptor, size);
  }
  close(descriptor);
  return error;
}

static int add_symlink(struct creation *creation, int directory, const char *file, const struct stat *status) {
  char target[PATH_MAX];
  ssize_t length = readlinkat(directory, file, target, sizeof target - 1);
  if (length < 0) return errno == ENOENT || errno == EINVAL ? 0 : errno;
  target[length] = 0;
  return tar_writer_header(&creation->writer, '2', creation->name, target, status, 0);
}

static int add_content(struct creation *creation, int directory, size_t name_length, int depth) {
  DIR *list = fdopendir(directory);
  if (!list) {
    close(directory);
    return ENOMEM;
  }
  int error = depth > DEPTH_LIMIT ? ELOOP : 0;
  for (struct dirent *item; !error && (item = readdir(list));) {
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
    int added = snprintf(creation->name + name_length, NAME_BYTES - name_length, "%s", item->d_name);
    if (name_length + (size_t)added + 2 > NAME_BYTES) error = ENAMETOOLONG;
    else error = add(creation, dirfd(list), item->d_name, name_length + (size_t)added, depth);
  }
  closedir(list);
  return error;
}

static int add_directory(struct creation *creation, int directory, const char *file, const struct stat *status, size_t name_length, int depth) {
  creation->name[name_length] = '/';
  creation->name[name_length + 1] = 0;
  int error = tar_writer_header(&creation->writer, '5', creation->name, NULL, status, 0);
  if (error) return error;
  int child = open_directory_at(directory, file);
  if (child < 0) return errno == ENOENT || errno == ELOOP || errno == ENOTDIR ? 0 : errno;
  return add_content(creation, child, name_length + 1, depth + 1);
}

// What vanishes while we look is left out; sockets and devices have no place in an archive.
static int add(struct creation *creation, int directory, const char *file, size_t name_length, int depth) {
  struct stat status;
  if (fstatat(directory, file, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT ? 0 : errno;
  if (S_ISDIR(status.st_mode)) return add_directory(creation, directory, file, &status, name_length, depth);
  if (S_ISREG(status.st_mode)) return add_file(creation, directory, file);
  if (S_ISLNK(status.st_mode)) return add_symlink(creation, directory, file, &status);
  if (S_ISFIFO(status.st_mode)) return tar_writer_header(&creation->writer, '6', creation->name, NULL, &status, 0);
  return 0;
}

static int add_root(struct creation *creation, const char *path) {
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) return add_content(creation, directory, 0, 0);
  if (errno != ENOTDIR) return errno;
  const char *slash = strrchr(path, '/');
  int length = snprintf(creation->name, NAME_BYTES, "%s", slash ? slash + 1 : path);
  return add(creation, AT_FDCWD, path, (size_t)length, 0);
}

int tar_create(const char *path, int output, char *what, uint32_t what_size) {
  static const uint8_t end[2 * TAR_BLOCK];
  struct creation *creation = calloc(1, sizeof *creation);
  if (!creation) return ENOMEM;
  creation->writer.output = output;
  int error = add_root(creation, path);
  if (!error) error = buffered_bytes(&creation->writer, end, sizeof end);
  if (!error) error = buffered_flush(&creation->writer);
  snprintf(what, what_size, "%s", creation->name[0] ? creation->name : path);
  for (uint32_t i = 0; i < LINK_SLOTS; i++) free(creation->links[i].name);
  free(creation);
  return error;
}
