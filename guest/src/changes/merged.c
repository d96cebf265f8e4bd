#define _GNU_SOURCE
#include "changes/merged.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "beneath.h"

static bool is_whiteout(const struct stat *status, enum overlay_attributes attributes) {
  return attributes != OVERLAY_NONE && S_ISCHR(status->st_mode) && status->st_rdev == makedev(0, 0);
}

// SAFETY: only the attributes of the mount's own kind count. A sandbox can set the others on its files.
static bool is_opaque(int directory, enum overlay_attributes attributes) {
  char value = 0;
  if (attributes == OVERLAY_NONE) return false;
  const char *name = attributes == OVERLAY_USER ? "user.overlay.opaque" : "trusted.overlay.opaque";
  return fgetxattr(directory, name, &value, 1) == 1 && value == 'y';
}

// Another place's content under this name: never made by the mounts of Hearth, and not understood here.
static bool is_redirected(int directory, enum overlay_attributes attributes) {
  if (attributes == OVERLAY_NONE) return false;
  return fgetxattr(directory, attributes == OVERLAY_USER ? "user.overlay.redirect" : "trusted.overlay.redirect", NULL, 0) > 0;
}

static int add_part(struct node *node, int directory, int layer, const char *name, enum overlay_attributes attributes, bool *last) {
  int descriptor = open_directory_at(directory, name);
  if (descriptor < 0) return errno;
  if (node->inside.count == MERGED_LAYERS || is_redirected(descriptor, attributes)) {
    close(descriptor);
    return EOPNOTSUPP;
  }
  node->inside.parts[node->inside.count++] = (struct part){descriptor, layer};
  *last = is_opaque(descriptor, attributes);
  return 0;
}

int merged_find(const struct merged *directory, const char *name, enum overlay_attributes attributes, struct node *node) {
  *node = (struct node){.kind = NODE_ABSENT};
  int error = 0;
  bool last = false;
  for (int i = 0; i < directory->count && !last && !error; i++) {
    struct part part = directory->parts[i];
    struct stat status;
    if (fstatat(part.directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) error = errno;
      continue;
    }
    bool is_directory = S_ISDIR(status.st_mode);
    last = !is_directory;
    // Below a directory a file is hidden; a whiteout hides what is below it.
    if (is_whiteout(&status, attributes) || (!is_directory && node->kind != NODE_ABSENT)) continue;
    if (node->kind == NODE_ABSENT) {
      node->kind = is_directory ? NODE_DIRECTORY : NODE_LEAF;
      node->status = status;
      node->holder = part;
    }
    if (is_directory) error = add_part(node, part.directory, part.layer, name, attributes, &last);
  }
  if (error) merged_release(&node->inside);
  return error;
}

void merged_release(struct merged *merged) {
  for (int i = 0; i < merged->count; i++) close(merged->parts[i].directory);
  merged->count = 0;
}

int merged_shared(const struct merged *one, const struct merged *other) {
  int shared = 0;
  while (shared < one->count && shared < other->count &&
         one->parts[one->count - 1 - shared].layer == other->parts[other->count - 1 - shared].layer)
    shared++;
  return shared;
}
