// Groups of subvolumes that have one limit together. With simple quotas a block counts for the subvolume that wrote it for as long as anybody holds it:
// what a sandbox wrote before it slept counts for a subvolume that is gone. A group of level 1 counts all that one sandbox ever had.
// Full quotas count what a subvolume refers to, whoever wrote it: there the subvolume itself is limited, and there are no groups.
#ifndef HEARTH_KEEPER_BTRFS_GROUPS_H
#define HEARTH_KEEPER_BTRFS_GROUPS_H
#include "failure.h"
#include <stdint.h>

// Puts a subvolume into the group, which is made if need be, and limits the group (0: no limit).
bool btrfs_group_join(const char *path, uint64_t group, uint64_t bytes, struct failure *failure);

// Lets all members go and removes the group. One that is not there is removed already. path: anything of the file system.
bool btrfs_group_remove(const char *path, uint64_t group, struct failure *failure);

// Removes what the kernel keeps of subvolumes that are gone, where nobody holds what they wrote any more.
bool btrfs_groups_tidy(const char *path, struct failure *failure);

// Writes out, and wakes the kernel's thread that gives back the blocks of removed subvolumes: by itself it wakes every half a minute.
bool btrfs_reclaim(const char *path, struct failure *failure);

// What follows is shared with btrfs.c.

struct btrfs_quotas {
  char directory[64];
  uint64_t subvolume;
  bool simple;
};

int btrfs_open(const char *path, const char *what, struct failure *failure);
// Closes the descriptor, and notes errno when the result is negative.
bool btrfs_finish(int fd, int result, const char *what, const char *path, struct failure *failure);
bool btrfs_find_quotas(int fd, const char *path, struct btrfs_quotas *quotas, struct failure *failure);
// Whether a file of one character, which older kernels may lack, says this one.
bool btrfs_quota_says(const struct btrfs_quotas *quotas, const char *name, char what);
// False with errno set when there is no such group.
bool btrfs_group_bytes(const struct btrfs_quotas *quotas, unsigned level, uint64_t number, uint64_t *bytes);

#endif
