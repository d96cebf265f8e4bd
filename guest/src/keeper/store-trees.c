#define _GNU_SOURCE
#include "store-trees.h"
#include "namespace.h"
#include "tree-copy.h"
#include "tree-entry.h"
#include "tree-record.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool enter(int process, const char *name, int kind, struct failure *failure) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/%s", process, name);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail_with(failure, errno, "copy: %s", path);
  int result = setns(descriptor, kind);
  int number = errno;
  close(descriptor);
  return result == 0 || fail_with(failure, number, "copy: setns %s", path);
}

static int open_tree(const char *path, struct failure *failure) {
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) fail_with(failure, errno, "open %s", path);
  return directory;
}

// Opened first, both: the descriptors of the namespaces are found in the /proc of the one that is left.
static bool enter_both(int process, struct failure *failure) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/mnt", process);
  int mounts = open(path, O_RDONLY | O_CLOEXEC);
  if (mounts < 0) return fail_with(failure, errno, "copy: %s", path);
  bool inside = geteuid() == 0 || enter(process, "user", CLONE_NEWUSER, failure);
  if (inside && setns(mounts, CLONE_NEWNS) != 0) inside = fail_with(failure, errno, "copy: setns %s", path);
  close(mounts);
  return inside;
}

// A sandbox may have taken permissions from its own directories. Where a user may not have namespaces it is tried as the user.
static void become_root(void) {
  struct failure ignored;
  if (geteuid() != 0) (void)rootless_enter(&ignored);
}

bool store_copy(int process, const char *source, const char *target, uint32_t base, struct failure *failure) {
  if (process == 0) become_root();
  int to = open_tree(target, failure);
  if (to < 0) return false;
  int from = -1;
  bool done = process == 0 || enter_both(process, failure);
  if (done) from = open_tree(source, failure);
  done = done && from >= 0 && tree_copy(from, to, base, failure);
  if (from >= 0) close(from);
  close(to);
  return done;
}

bool store_remove(const char *path, struct failure *failure) {
  become_root();
  // By its name in a directory that is open: a subvolume that may not be written to goes in no other way.
  const char *slash = strrchr(path, '/');
  char parent[PATH_MAX];
  if ((size_t)snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path + 1) : 1, slash ? path : ".") >= sizeof parent)
    return fail_with(failure, ENAMETOOLONG, "remove");
  int directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return errno == ENOENT || fail_with(failure, errno, "remove %s", path);
  bool removed = tree_remove_at(directory, slash ? slash + 1 : path);
  int number = errno;
  close(directory);
  return removed || fail_with(failure, number, "remove %s", path);
}

uint64_t store_bytes(const char *path) {
  become_root();
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return directory < 0 ? 0 : tree_bytes(directory);
}

bool store_pack(const char *path, struct failure *failure) {
  become_root();
  int directory = open_tree(path, failure);
  return directory >= 0 && tree_pack(directory, STDOUT_FILENO, failure);
}

bool store_unpack(const char *path, struct failure *failure) {
  bool owners = geteuid() == 0;
  become_root();
  umask(0);
  int directory = open_tree(path, failure);
  return directory >= 0 && tree_unpack(directory, STDIN_FILENO, owners, failure);
}
