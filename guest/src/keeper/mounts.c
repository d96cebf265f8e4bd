#define _GNU_SOURCE
#include "mounts.h"
#include "as-owner.h"
#include "system-calls.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define MOUNT_DATA_BYTES 4096
#define LOWER_LAYERS 64

bool mounts_make_private(struct failure *failure) {
  if (unshare(CLONE_NEWNS) != 0) return fail_with(failure, errno, "mount namespace");
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return fail_with(failure, errno, "mount namespace: propagation");
  return true;
}

// A detached copy of the mount at a path, or -1.
static int clone_tree(const char *source, struct bind_options options, int user_namespace, struct failure *failure) {
  unsigned recursive = options.recursive ? TREE_RECURSIVE : 0;
  int tree = call_open_tree(source, recursive);
  if (tree < 0) {
    fail_with(failure, errno, "open_tree %s", source);
    return -1;
  }
  struct mount_attributes attributes = {0};
  if (options.read_only) attributes.set |= ATTRIBUTE_READ_ONLY;
  if (options.inert) attributes.set |= ATTRIBUTE_NO_SETUID | ATTRIBUTE_NO_DEVICES;
  if (options.id_map) {
    attributes.set |= ATTRIBUTE_ID_MAP;
    attributes.user_namespace = (uint64_t)user_namespace;
  }
  if (attributes.set != 0 && call_mount_setattr(tree, recursive, &attributes) != 0) {
    int number = errno;
    const char *hint = options.id_map && number == EINVAL ? " (its file system cannot be id-mapped)" : "";
    close(tree);
    fail_with(failure, number, "mount_setattr %s%s", source, hint);
    return -1;
  }
  return tree;
}

bool mount_bind(const char *source, const char *target, struct bind_options options, int user_namespace, struct failure *failure) {
  int tree = clone_tree(source, options, user_namespace, failure);
  if (tree < 0) return false;
  int result = call_move_mount(tree, target);
  int number = errno;
  close(tree);
  return result == 0 || fail_with(failure, number, "bind %s to %s", source, target);
}

// Puts id-mapped copies of the lower layers on the target, where the overlay will cover them, and names them by descriptor:
// the overlay takes only layers that are attached somewhere.
static bool map_lowers(char *lowers, const char *target, int user_namespace, char *names, size_t size, struct failure *failure) {
  size_t length = 0;
  int count = 0;
  for (char *lower = strtok(lowers, ":"); lower; lower = strtok(NULL, ":")) {
    if (++count > LOWER_LAYERS) return fail_with(failure, E2BIG, "overlay %s: more than %d layers", target, LOWER_LAYERS);
    int tree = clone_tree(lower, (struct bind_options){.id_map = true}, user_namespace, failure);
    if (tree < 0) return false;
    if (call_move_mount(tree, target) != 0) return fail_with(failure, errno, "overlay: layer %s to %s", lower, target);
    // The descriptor stays open until the runtime is executed.
    length += (size_t)snprintf(names + length, size - length, "%s/proc/self/fd/%d", count > 1 ? ":" : "", tree);
    if (length >= size) return fail_with(failure, E2BIG, "overlay %s: too many layers", target);
  }
  return true;
}

// SAFETY: the overlay goes on working with the credentials of its mounter. On an id-mapped upper layer a mounter that the mapping does not
// know could create nothing, so it is mounted as the upper layer's owner; all capabilities are kept, since layers hold files of many owners.
static bool mount_as_owner(const char *target, const char *upper, const char *data, struct failure *failure) {
  struct stat status;
  if (stat(upper, &status) != 0) return fail_with(failure, errno, "overlay on %s: %s", target, upper);
  if (!as_owner_begin(&status)) return fail_with(failure, errno, "overlay on %s: capabilities", target);
  // An image may hold device nodes and setuid files: neither means anything in a sandbox.
  int result = mount("overlay", target, "overlay", MS_NODEV | MS_NOSUID, data);
  int number = errno;
  as_owner_end();
  return result == 0 || fail_with(failure, number, "overlay on %s", target);
}

bool mount_overlay(char *const paths[4], struct overlay_options options, int user_namespace, struct failure *failure) {
  const char *target = paths[0], *upper = paths[2], *work = paths[3];
  char lowers[MOUNT_DATA_BYTES], data[MOUNT_DATA_BYTES];
  if (strlen(paths[1]) >= sizeof lowers) return fail_with(failure, ENAMETOOLONG, "overlay %s: lower", target);
  strcpy(lowers, paths[1]);
  if (options.id_map) {
    char names[MOUNT_DATA_BYTES];
    if (!map_lowers(lowers, target, user_namespace, names, sizeof names, failure)) return false;
    strcpy(lowers, names);
  }
  // A layer that is kept must tell by itself what it changes: no directory that stands for another, no file without its content.
  const char *format = options.user_xattr ? ",userxattr" : ",redirect_dir=nofollow,metacopy=off";
  int length = snprintf(data, sizeof data, "lowerdir=%s,upperdir=%s,workdir=%s%s", lowers, upper, work, format);
  if ((size_t)length >= sizeof data) return fail_with(failure, ENAMETOOLONG, "overlay %s: its layers", target);
  return mount_as_owner(target, upper, data, failure);
}

bool mount_tmpfs(const char *target, const char *data, struct failure *failure) {
  if (mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, strcmp(data, "-") == 0 ? NULL : data) != 0)
    return fail_with(failure, errno, "tmpfs on %s", target);
  return true;
}
