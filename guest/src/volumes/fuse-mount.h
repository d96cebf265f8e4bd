// A file system that the guest serves itself, as the kernel has it before it lies anywhere.
#ifndef HEARTH_VOLUMES_FUSE_MOUNT_H
#define HEARTH_VOLUMES_FUSE_MOUNT_H
#include <stdbool.h>

struct fuse_mount {
  int device;  // where the kernel asks
  int mount;   // nowhere yet
};

// 0 or an errno.
int fuse_mount_make(bool read_only, struct fuse_mount *made);
int fuse_mount_place(struct fuse_mount *made, const char *path);
#endif
