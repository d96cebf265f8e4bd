// The descriptors that a runtime finds open: `files` of KeeperLaunch.
#ifndef HEARTH_KEEPER_FILES_H
#define HEARTH_KEEPER_FILES_H
#include "failure.h"

// Descriptor numbers of `files` lie between these; the child's own temporary ones lie above.
#define FILE_NUMBER_FIRST 3
#define FILE_NUMBER_LAST 511

// When a file is opened: before anything is mounted, as what the engine sees under its path, or after the steps, which may have made it.
enum file_moment { BEFORE_STEPS, AFTER_STEPS };

bool files_check(char *const *files, struct failure *failure);

// Opens those of the moment. None is the runtime's own before files_place.
bool files_open(char *const *files, enum file_moment moment, int *opened, struct failure *failure);
bool files_place(char *const *files, const int *opened, struct failure *failure);

// A descriptor above all numbers that `files` may name.
int file_lift(int descriptor);

// Listens on a name in the working directory, for the own user only. By a short name: a socket's path may not be long.
int listen_on(const char *name, int flags, struct failure *failure);

#endif
