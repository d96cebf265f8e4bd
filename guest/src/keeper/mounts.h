// Mounts through descriptors: cloned trees, read-only and id-mapped where asked.
#ifndef HEARTH_KEEPER_MOUNTS_H
#define HEARTH_KEEPER_MOUNTS_H
#include "failure.h"

struct bind_options {
  bool read_only;
  bool recursive;
  bool id_map;
};

struct overlay_options {
  bool id_map;
  bool user_xattr;
};

bool mount_bind(const char *source, const char *target, struct bind_options options, int user_namespace, struct failure *failure);
bool mount_overlay(char *const paths[4], struct overlay_options options, int user_namespace, struct failure *failure);
bool mount_tmpfs(const char *target, const char *data, struct failure *failure);

// SAFETY: a root holds what untrusted code has written. False when a part of the path below it is a link, which would lead a mount there elsewhere.
bool mount_place_check(const char *root, const char *path, struct failure *failure);

// A mount namespace of our own; nothing of what is mounted in it is seen outside.
bool mounts_make_private(struct failure *failure);

#endif
