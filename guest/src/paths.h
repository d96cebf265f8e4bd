#ifndef HEARTH_PATHS_H
#define HEARTH_PATHS_H
#include "users.h"
#include "wire.h"

#define PATH_BYTES 4096

// A terminated copy; a relative path is below the workdir. 0, EINVAL, ENAMETOOLONG or ENOENT (empty).
int path_copy(struct slice path, char target[PATH_BYTES]);
// Makes a directory and what leads to it; an existing one is fine. New ones belong to the user where that is possible.
int path_make_directories(const char *path, unsigned int mode, const struct user *user);
// The same for what leads to a file.
int path_make_parents(const char *path, const struct user *user);
// Gives a new file to the user; where only one user exists it stays as it is.
int path_give(int descriptor, const struct user *user);
#endif
