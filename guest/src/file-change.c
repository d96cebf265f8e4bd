// MakeDirectory, Rename, Symlink, ChangeMode.
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer.h"
#include "paths.h"
#include "requests.h"

#define MAKE_PARENTS 1u

static int make_directory(const char *path, const struct message_make_directory *message) {
  struct user user;
  int error = users_find(message->user, &user);
  if (error) return error == ENOENT ? EINVAL : error;
  unsigned int mode = message->mode == UINT32_MAX ? 0755 : message->mode & 07777;
  if (message->flags & MAKE_PARENTS) return path_make_directories(path, mode, &user);
  if (mkdir(path, mode) != 0) return errno;
  if (chmod(path, mode) != 0) return errno;
  // Where only one user exists it stays with that one.
  return lchown(path, user.uid, user.gid) == 0 || errno == EPERM || errno == EINVAL ? 0 : errno;
}

void serve_make_directory(uint32_t channel, const struct message_make_directory *message) {
  char path[PATH_BYTES] = "";
  int error = path_copy(message->path, path);
  answer_result(channel, error ? error : make_directory(path, message), path);
}

void serve_rename(uint32_t channel, const struct message_rename *message) {
  char from[PATH_BYTES] = "", to[PATH_BYTES];
  int error = path_copy(message->path, from);
  if (!error) error = path_copy(message->to, to);
  if (!error && rename(from, to) != 0) error = errno;
  answer_result(channel, error, from);
}

void serve_symlink(uint32_t channel, const struct message_symlink *message) {
  char path[PATH_BYTES] = "", target[PATH_BYTES];
  int error = path_copy(message->path, path);
  // The target is text: a relative one stays relative.
  if (!error && message->target.length >= sizeof target) error = ENAMETOOLONG;
  if (!error && (message->target.length == 0 || memchr(message->target.bytes, 0, message->target.length))) error = EINVAL;
  if (!error) {
    snprintf(target, sizeof target, "%.*s", (int)message->target.length, (const char *)message->target.bytes);
    struct user user;
    if (symlink(target, path) != 0) error = errno;
    else if (users_find((struct slice){NULL, 0}, &user) == 0 && lchown(path, user.uid, user.gid) != 0 && errno != EPERM && errno != EINVAL) error = errno;
  }
  answer_result(channel, error, path);
}

void serve_change_mode(uint32_t channel, const struct message_change_mode *message) {
  char path[PATH_BYTES] = "";
  int error = path_copy(message->path, path);
  if (!error && chmod(path, message->mode & 07777) != 0) error = errno;
  answer_result(channel, error, path);
}
