// Paths below a directory, walked one component at a time so that no symlink leads out of it.
#ifndef HEARTH_BENEATH_H
#define HEARTH_BENEATH_H
#include "users.h"

// Opens the directory that holds the last component of `path` (copied to name, empty for the directory itself), making what is
// missing when make is set. Refuses absolute paths and `..` with EXDEV, symlinks on the way with ELOOP. 0 or an errno.
int beneath_parent(int root, const char *path, const struct user *make, int *parent, char name[256]);
// A directory by its name, never through a symlink there (ELOOP). -1 and errno on failure, ENOTDIR for what is none.
int open_directory_at(int at, const char *name);
#endif
