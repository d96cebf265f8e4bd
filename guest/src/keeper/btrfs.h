// Subvolumes, snapshots and quotas of btrfs by ioctl: a command-line tool would cost milliseconds each.
#ifndef HEARTH_KEEPER_BTRFS_H
#define HEARTH_KEEPER_BTRFS_H
#include "failure.h"
#include <stdint.h>

bool btrfs_is(const char *path);
bool btrfs_create_subvolume(const char *path, struct failure *failure);
bool btrfs_delete_subvolume(const char *path, struct failure *failure);
// The same by a name in an open directory. False with errno set.
bool btrfs_delete_subvolume_at(int parent, const char *name);
bool btrfs_snapshot(const char *source, const char *target, bool read_only, struct failure *failure);

// Simple quotas where the kernel has them, else full ones; waits until limits are enforced.
bool btrfs_enable_quota(const char *mount, struct failure *failure);

// `off`, `on`, or `inconsistent`: counted wrongly until they are scanned again, so that limits do not hold.
bool btrfs_quota_state(const char *path, const char **state, struct failure *failure);

// A new empty file whose blocks, once it has them, are written where they lie (NOCOW): a full file system cannot refuse that.
bool btrfs_make_in_place_file(const char *path, struct failure *failure);

// 0 takes the limit away.
bool btrfs_limit(const char *path, uint64_t bytes, struct failure *failure);
// Of the group of this number where there is one, else of the subvolume alone. 0: no group.
bool btrfs_usage(const char *path, uint64_t group, uint64_t *bytes, struct failure *failure);

// A writable snapshot with a limit of its own (0: none). When the limit cannot be set the snapshot is taken away again.
bool btrfs_clone(const char *source, const char *target, uint64_t bytes, struct failure *failure);

// Makes a subvolume if there is none at the path, and limits it unless bytes is 0. On another file system: a directory, and a
// limit cannot be had.
bool btrfs_ensure_subvolume(const char *path, uint64_t bytes, struct failure *failure);

#endif
