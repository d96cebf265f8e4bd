// Mounts through descriptors: cloned trees, read-only and id-mapped where asked.
#ifndef HEARTH_KEEPER_MOUNTS_H
#define HEARTH_KEEPER_MOUNTS_H
#include "failure.h"

struct bind_options {
  bool read_only;
  bool recursive;
  bool id_map;
  bool inert; // no program in it gives privileges, and no file is a device
};

struct overlay_options {
  bool id_map;
  bool user_xattr;
};

bool mount_bind(const char *source, const char *target, struct bind_options options, int user_namespace, struct failure *failure);
bool mount_overlay(char *const paths[4], struct overlay_options options, int user_namespace, struct failure *failure);
bool mount_tmpfs(const char *target, const char *data, struct failure *failure);

// A mount namespace of our own; nothing of what is mounted in it is seen outside.
bool mounts_make_private(struct failure *failure);

#endif
