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
