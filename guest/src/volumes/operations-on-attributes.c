// Extended attributes. SAFETY: those of users alone; the others mean something to the host's kernel.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "operations.h"

#define VALUE_LIMIT 65536u
#define LIST_LIMIT 65536u

static bool is_users(const char *name) { return strncmp(name, "user.", 5) == 0 && name[5] != 0 && strlen(name) <= FUSE_NAME_MAX; }

// What has any: a file or a directory.
static int open_subject(const struct volume_call *call) {
  int descriptor = subject_open(call, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  // Links and sockets cannot be opened, and have none.
  if (descriptor < 0 && (errno == ELOOP || errno == ENXIO)) errno = ENODATA;
  return descriptor;
}

int operate_setxattr(const struct volume_call *call, struct answer *answer) {
  (void)answer;
  struct fuse_setxattr_in in;
  size_t offset = sizeof in;
  const char *name = TAKE(call, in) ? next_text(call, &offset) : NULL;
  if (!name || in.size > VALUE_LIMIT || in.size > call->arguments_length - offset) return EINVAL;
  if (!is_users(name)) return EOPNOTSUPP;
  int file = open_subject(call);
  if (file < 0) return errno == ENODATA ? EPERM : errno;
  int error = fsetxattr(file, name, call->arguments + offset, in.size, (int)in.flags) == 0 ? 0 : errno;
  close(file);
  return error;
}

// The size alone where none was given.
static int answer_bytes(uint32_t given, ssize_t length, struct answer *answer) {
  if (given == 0) {
    *(struct fuse_getxattr_in *)answer->body = (struct fuse_getxattr_in){(uint32_t)length, 0};
    answer->length = sizeof(struct fuse_getxattr_in);
    return 0;
  }
  if ((size_t)length > given) return ERANGE;
  answer->length = (uint32_t)length;
  return 0;
}

int operate_getxattr(const struct volume_call *call, struct answer *answer) {
  struct fuse_getxattr_in in;
  size_t offset = sizeof in;
  const char *name = TAKE(call, in) ? next_text(call, &offset) : NULL;
  if (!name) return EINVAL;
  if (!is_users(name)) return ENODATA;
  int file = open_subject(call);
  if (file < 0) return errno;
  ssize_t length = fgetxattr(file, name, answer->body, VALUE_LIMIT);
  int error = length < 0 ? errno : 0;
  close(file);
  return error ? error : answer_bytes(in.size, length, answer);
}

int operate_listxattr(const struct volume_call *call, struct answer *answer) {
  struct fuse_getxattr_in in;
  if (!TAKE(call, in)) return EINVAL;
  int file = open_subject(call);
  if (file < 0 && errno == ENODATA) return answer_bytes(in.size, 0, answer);
  if (file < 0) return errno;
  char *names = answer->body;
  ssize_t length = flistxattr(file, names, LIST_LIMIT), kept = 0;
  int error = length < 0 ? errno : 0;
  close(file);
  for (ssize_t at = 0; at < length;) {
    size_t size = strnlen(names + at, (size_t)(length - at)) + 1;
    if (is_users(names + at)) {
      memmove(names + kept, names + at, size);
      kept += (ssize_t)size;
    }
    at += (ssize_t)size;
  }
  return error ? error : answer_bytes(in.size, kept, answer);
}

int operate_removexattr(const struct volume_call *call, struct answer *answer) {
  (void)answer;
  size_t offset = 0;
  const char *name = next_text(call, &offset);
  if (!name) return EINVAL;
  if (!is_users(name)) return EOPNOTSUPP;
  int file = open_subject(call);
  if (file < 0) return errno;
  int error = fremovexattr(file, name) == 0 ? 0 : errno;
  close(file);
  return error;
}
