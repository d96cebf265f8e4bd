#define _GNU_SOURCE
#include "tree-copy.h"
#include "clone-file.h"
#include "link-names.h"
#include "tree-entry.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

// As deep as a path can be: deeper trees can be made only step by step, to annoy.
#define DEPTH 2048

struct copy {
  int root;
  uint32_t base;
  struct link_names links;
  // Of the entry at hand, below the root.
  char path[PATH_MAX];
  struct failure *failure;
};

static bool fail_at(struct copy *copy) { return fail_with(copy->failure, errno, "copy of %.200s", copy->path); }

// Makes the name a link to where the same inode went before. False when that was nowhere.
static bool linked(struct copy *copy, const struct stat *status, int target, const char *name) {
  const char *first = link_names_find(&copy->links, status, copy->path);
  return first && linkat(copy->root, first, target, name, 0) == 0;
}

static bool copy_file(struct copy *copy, int source, int target, const char *name) {
  struct stat status;
  int from = openat(source, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (from < 0) return errno == ENOENT || fail_at(copy);
  bool done = false;
  if (fstat(from, &status) == 0 && S_ISREG(status.st_mode)) {
    done = linked(copy, &status, target, name);
    int to = done ? -1 : openat(target, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to >= 0 && !clone_descriptor(from, to, copy->path, copy->failure)) {
      close(to);
      close(from);
      return false;
    }
    done = done || (to >= 0 && tree_copy_properties(from, to, &status, copy->base));
    int number = errno;
    if (to >= 0) close(to);
    errno = number;
  }
  if (!done) fail_at(copy);
  close(from);
  return done;
}

static bool copy_node(struct copy *copy, const struct stat *status, int source, int target, const char *name) {
  if (linked(copy, status, target, name)) return true;
  if (S_ISLNK(status->st_mode)) {
    char text[PATH_MAX];
    ssize_t length = readlinkat(source, name, text, sizeof text - 1);
    if (length < 0) return errno == ENOENT || fail_at(copy);
    text[length] = 0;
    if (symlinkat(text, target, name) != 0) return fail_at(copy);
  } else if (mknodat(target, name, status->st_mode & (S_IFMT | 07777), 0) != 0) {
    return fail_at(copy);
  }
  const struct timespec times[2] = {status->st_atim, status->st_mtim};
  uint32_t user = tree_id(status->st_uid, copy->base), group = tree_id(status->st_gid, copy->base);
  if (fchownat(target, name, user, group, AT_SYMLINK_NOFOLLOW) != 0) return fail_at(copy);
  return utimensat(target, name, times, AT_SYMLINK_NOFOLLOW) == 0 || fail_at(copy);
}

static bool copy_below(struct copy *copy, int source, int target, int depth);

static int open_target(int target, const char *name, bool fresh) {
  struct stat present;
  if (fstatat(target, name, &present, AT_SYMLINK_NOFOLLOW) == 0 && (fresh || !S_ISDIR(present.st_mode)) && !tree_remove_at(target, name)) return -1;
  if (mkdirat(target, name, 0700) != 0 && errno != EEXIST) return -1;
  return openat(target, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool copy_directory(struct copy *copy, int source, int target, const char *name, int depth) {
  struct stat status;
  int from = openat(source, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (from < 0) return errno == ENOENT || errno == ENOTDIR || fail_at(copy);
  int to = open_target(target, name, tree_is_opaque(from));
  bool done = to >= 0 && fstat(from, &status) == 0;
  if (!done) fail_at(copy);
  done = done && copy_below(copy, from, to, depth + 1);
  if (done && !tree_copy_properties(from, to, &status, copy->base)) done = fail_at(copy);
  close(from);
  if (to >= 0) close(to);
  return done;
}

static bool copy_entry(struct copy *copy, int source, int target, const char *name, int depth) {
  struct stat status;
  if (fstatat(source, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno == ENOENT || fail_at(copy);
  if (S_ISDIR(status.st_mode)) return copy_directory(copy, source, target, name, depth);
  bool device = S_ISBLK(status.st_mode) || (S_ISCHR(status.st_mode) && status.st_rdev != 0);
  if (device) return true;
  if (!tree_remove_at(target, name)) return fail_at(copy);
  if (S_ISREG(status.st_mode)) return copy_file(copy, source, target, name);
  return copy_node(copy, &status, source, target, name);
}

static bool copy_below(struct copy *copy, int source, int target, int depth) {
  size_t length = strlen(copy->path);
  int duplicate = openat(source, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *stream = depth > DEPTH || duplicate < 0 ? NULL : fdopendir(duplicate);
  if (!stream) {
    if (duplicate >= 0) close(duplicate);
    errno = depth > DEPTH ? ENAMETOOLONG : errno;
    return fail_at(copy);
  }
  bool done = true;
  struct dirent *entry;
  while (done && (entry = readdir(stream))) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    size_t room = sizeof copy->path - length;
    int written = snprintf(copy->path + length, room, "%s%s", length > 0 ? "/" : "", entry->d_name);
    errno = ENAMETOOLONG;
    done = (size_t)written < room ? copy_entry(copy, source, target, entry->d_name, depth) : fail_at(copy);
    copy->path[length] = 0;
  }
  closedir(stream);
  return done;
}

bool tree_copy(int source, int target, uint32_t base, struct failure *failure) {
  // Three descriptors a level.
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  struct copy *copy = calloc(1, sizeof *copy);
  if (!copy) return fail_with(failure, ENOMEM, "copy");
  copy->root = target;
  copy->base = base;
  copy->failure = failure;
  struct stat status;
  bool done = copy_below(copy, source, target, 0);
  if (done && (fstat(source, &status) != 0 || !tree_copy_properties(source, target, &status, base))) done = fail_with(failure, errno, "copy");
  link_names_release(&copy->links);
  free(copy);
  return done;
}
