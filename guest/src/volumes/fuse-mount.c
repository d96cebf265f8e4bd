#define _GNU_SOURCE
#include "fuse-mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "volume-wire.h"

#define DEVICE "/dev/fuse"
// Of the kernel's interface to mounts, which musl's headers do not have.
#define CALL_MOVE_MOUNT 429
#define CALL_OPEN 430
#define CALL_CONFIGURE 431
#define CALL_MOUNT 432
#define CLOSE_ON_EXEC 1u
#define FROM_EMPTY_PATH 4u
#define READ_ONLY 1u
#define NO_SETUID 2u
#define NO_DEVICES 4u
enum { SET_FLAG = 0, SET_STRING = 1, CREATE = 6 };

static bool set(int context, const char *key, const char *value) {
  return syscall(CALL_CONFIGURE, context, value ? SET_STRING : SET_FLAG, key, value, 0) == 0;
}

static bool configure(int context, int device) {
  char number[16], most[16];
  snprintf(number, sizeof number, "%d", device);
  snprintf(most, sizeof most, "%u", VOLUME_DATA_LIMIT);
  // Who may do what says the kernel, by the owners and permissions of the files.
  return set(context, "source", "hearth") && set(context, "fd", number) && set(context, "rootmode", "40000") && set(context, "user_id", "0") && set(context, "group_id", "0") &&
         set(context, "default_permissions", NULL) && set(context, "allow_other", NULL) && set(context, "max_read", most) && syscall(CALL_CONFIGURE, context, CREATE, NULL, NULL, 0) == 0;
}

int fuse_mount_make(bool read_only, struct fuse_mount *made) {
  *made = (struct fuse_mount){-1, -1};
  int context = (int)syscall(CALL_OPEN, "fuse", CLOSE_ON_EXEC);
  if (context < 0) return errno;
  made->device = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (made->device >= 0 && configure(context, made->device))
    made->mount = (int)syscall(CALL_MOUNT, context, CLOSE_ON_EXEC, NO_SETUID | NO_DEVICES | (read_only ? READ_ONLY : 0));
  int error = made->mount < 0 ? errno : 0;
  close(context);
  if (error && made->device >= 0) close(made->device);
  return error;
}

int fuse_mount_place(struct fuse_mount *made, const char *path) {
  if (syscall(CALL_MOVE_MOUNT, made->mount, "", AT_FDCWD, path, FROM_EMPTY_PATH) != 0) return errno;
  close(made->mount);
  made->mount = -1;
  return 0;
}
