#define _GNU_SOURCE
#include "places.h"
#include "as-owner.h"
#include "system-calls.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool explain(int number, const char *path, struct failure *failure) {
  return fail_with(failure, number, number == ELOOP ? "the root has a link where something is mounted: /%s" : "place /%s", path);
}

static int open_root(const char *root) { return open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

bool place_check(const char *root, const char *path, struct failure *failure) {
  while (*path == '/') path++;
  int directory = open_root(root);
  if (directory < 0) return fail_with(failure, errno, "unlinked %s", root);
  int place = call_open_unlinked(directory, path);
  int number = errno;
  close(directory);
  if (place >= 0) close(place);
  // What is not there is made by whoever mounts on it, in a directory that was reached without a link.
  return place >= 0 || number == ENOENT || explain(number, path, failure);
}

// Goes from a directory to one of its names, which is made when it is not there. -1 with errno set.
static int enter(int directory, const char *name) {
  struct stat status;
  int next = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (next < 0 && errno == ENOENT && mkdirat(directory, name, 0755) == 0) next = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (next < 0) return -1;
  if (fstat(next, &status) == 0 && S_ISDIR(status.st_mode)) return next;
  close(next);
  errno = S_ISLNK(status.st_mode) ? ELOOP : ENOTDIR;
  return -1;
}

static int make_below(int directory, char *names) {
  int at = fcntl(directory, F_DUPFD_CLOEXEC, 0);
  for (char *name = strtok(names, "/"); name && at >= 0; name = strtok(NULL, "/")) {
    bool upwards = strcmp(name, "..") == 0 || strcmp(name, ".") == 0;
    int next = upwards ? -1 : enter(at, name);
    int number = upwards ? EINVAL : errno;
    close(at);
    errno = number;
    at = next;
  }
  if (at >= 0) close(at);
  return at;
}

bool place_make(const char *root, const char *path, struct failure *failure) {
  char names[PATH_MAX];
  struct stat status;
  if ((size_t)snprintf(names, sizeof names, "%s", path) >= sizeof names) return fail_with(failure, ENAMETOOLONG, "place in %s", root);
  int directory = open_root(root);
  if (directory < 0 || fstat(directory, &status) != 0) return fail_with(failure, errno, "place in %s", root);
  bool made = as_owner_begin(&status) && make_below(directory, names) >= 0;
  int number = errno;
  as_owner_end();
  close(directory);
  while (*path == '/') path++;
  return made || explain(number, path, failure);
}
