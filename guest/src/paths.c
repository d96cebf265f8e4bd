#include "paths.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "configure.h"

int path_copy(struct slice path, char target[PATH_BYTES]) {
  if (path.length == 0) return ENOENT;
  if (memchr(path.bytes, 0, path.length)) return EINVAL;
  bool absolute = path.bytes[0] == '/';
  size_t prefix = absolute ? 0 : strlen(configuration.workdir) + 1;
  if (prefix + path.length >= PATH_BYTES) return ENAMETOOLONG;
  if (!absolute) snprintf(target, PATH_BYTES, "%s/", configuration.workdir);
  memcpy(target + prefix, path.bytes, path.length);
  target[prefix + path.length] = 0;
  return 0;
}

int path_give(int descriptor, const struct user *user) {
  if (fchown(descriptor, user->uid, user->gid) == 0) return 0;
  // One user only, or an id that does not exist here: the file belongs to the one there is.
  return errno == EPERM || errno == EINVAL || errno == ENOSYS ? 0 : errno;
}

static int make_one(const char *path, unsigned int mode, const struct user *user) {
  if (mkdir(path, mode) == 0) {
    chmod(path, mode);
    if (lchown(path, user->uid, user->gid) != 0 && errno != EPERM && errno != EINVAL) return errno;
    return 0;
  }
  if (errno != EEXIST && errno != EISDIR && errno != EROFS) return errno;
  int error = errno;
  struct stat status;
  if (stat(path, &status) != 0) return error;
  return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
}

static int make_until(const char *path, size_t length, unsigned int mode, const struct user *user) {
  char part[PATH_BYTES];
  if (length >= sizeof part) return ENAMETOOLONG;
  memcpy(part, path, length);
  part[length] = 0;
  for (char *at = part + 1; *at; at++) {
    if (*at != '/' || at[-1] == '/') continue;
    *at = 0;
    int error = make_one(part, 0755, user);
    *at = '/';
    if (error) return error;
  }
  return make_one(part, mode, user);
}

int path_make_directories(const char *path, unsigned int mode, const struct user *user) { return make_until(path, strlen(path), mode, user); }

int path_make_parents(const char *path, const struct user *user) {
  const char *name = strrchr(path, '/');
  if (!name || name == path) return 0;
  return make_until(path, (size_t)(name - path), 0755, user);
}
