// Places in a root on which something is mounted. SAFETY: a root holds what untrusted code has written: a link in it would lead the mount elsewhere.
#ifndef HEARTH_KEEPER_PLACES_H
#define HEARTH_KEEPER_PLACES_H
#include "failure.h"

// False when a part of the path below the root is a link. One that is not there is fine.
bool place_check(const char *root, const char *path, struct failure *failure);

// The same, and what is not there is made: directories that belong to the owner of the root.
bool place_make(const char *root, const char *path, struct failure *failure);

#endif
