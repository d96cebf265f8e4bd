// A file as a copy that shares its blocks where the file system can, and its holes in any case.
#ifndef HEARTH_KEEPER_CLONE_FILE_H
#define HEARTH_KEEPER_CLONE_FILE_H
#include "failure.h"

// Makes TARGET, which must not exist, mode 0600. What was made when it fails is taken away again.
bool clone_file(const char *source, const char *target, struct failure *failure);

// The same between open descriptors; the target is empty. `what` names it in a failure.
bool clone_descriptor(int source, int target, const char *what, struct failure *failure);

#endif
