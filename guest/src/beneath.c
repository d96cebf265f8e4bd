#define _GNU_SOURCE
#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paths.h"

// The next component that is not "." or empty. NULL at the end.
static const char *next_component(const char **path, size_t *length) {
  for (;;) {
    while (**path == '/') (*path)++;
    const char *start = *path;
    while (**path && **path != '/') (*path)++;
    *length = (size_t)(*path - start);
    if (*length == 0) return NULL;
    if (*length != 1 || *start != '.') return start;
  }
}

// Not with O_DIRECTORY: together with it gVisor takes O_NOFOLLOW for nothing and follows the link.
int open_directory_at(int at, const char *name) {
  int descriptor = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0 || (fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode))) return descriptor;
  close(descriptor);
  errno = ENOTDIR;
  return -1;
}

static int enter(int *directory, const char *name, const struct user *make) {
  int next = open_directory_at(*directory, name);
  if (next < 0 && errno == ENOENT && make && (mkdirat(*directory, name, 0755) == 0 || errno == EEXIST)) {
    next = open_directory_at(*directory, name);
    if (next >= 0) path_give(next, make);
  }
  if (next < 0) {
    struct stat status;
    int error = errno;
    bool symlink = error == ENOTDIR && fstatat(*directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
    return symlink ? ELOOP : error;
  }
  close(*directory);
  *directory = next;
  return 0;
}

int beneath_parent(int root, const char *path, const struct user *make, int *parent, char name[256]) {
  name[0] = 0;
  if (*path == '/') return EXDEV;
  int directory = fcntl(root, F_DUPFD_CLOEXEC, 0);
  if (directory < 0) return errno;
  int error = 0;
  size_t length;
  for (const char *component; !error && (component = next_component(&path, &length));) {
    if (name[0]) error = enter(&directory, name, make);
    if (length > 255) error = ENAMETOOLONG;
    if (length == 2 && component[0] == '.' && component[1] == '.') error = EXDEV;
    if (error) break;
    memcpy(name, component, length);
    name[length] = 0;
  }
  if (error) close(directory);
  else *parent = directory;
  return error;
}
