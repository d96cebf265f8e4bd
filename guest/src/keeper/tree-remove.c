#define _GNU_SOURCE
#include "btrfs.h"
#include "tree-entry.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool remove_below(int directory) {
  DIR *stream = fdopendir(directory);
  if (!stream) {
    close(directory);
    return false;
  }
  bool done = true;
  struct dirent *entry;
  while (done && (entry = readdir(stream)))
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) done = tree_remove_at(dirfd(stream), entry->d_name);
  int number = errno;
  closedir(stream);
  errno = number;
  return done;
}

uint64_t tree_bytes(int directory) {
  uint64_t bytes = 0;
  struct dirent *entry;
  DIR *stream = fdopendir(directory);
  if (!stream) {
    close(directory);
    return 0;
  }
  while ((entry = readdir(stream))) {
    struct stat status;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    // A file with several names is counted once, or nearly so.
    if (S_ISREG(status.st_mode)) bytes += (uint64_t)status.st_blocks * 512 / status.st_nlink;
    if (!S_ISDIR(status.st_mode)) continue;
    int below = openat(dirfd(stream), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below >= 0) bytes += tree_bytes(below);
  }
  closedir(stream);
  return bytes;
}

bool tree_remove_at(int parent, const char *name) {
  if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;
  if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  // A subvolume goes as a whole; one without write permission too.
  if (btrfs_delete_subvolume_at(parent, name)) return true;
  int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) return errno == ENOENT;
  return remove_below(directory) && (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT);
}
