// User namespaces of a sandbox.
#ifndef HEARTH_KEEPER_NAMESPACE_H
#define HEARTH_KEEPER_NAMESPACE_H
#include "failure.h"
#include <stdint.h>

// A descriptor of a new user namespace that maps 0..count-1 to base.., or -1.
int user_namespace_make(uint32_t base, uint32_t count, struct failure *failure);

// Makes the caller the root of an existing one, without supplementary groups.
bool user_namespace_enter(int user_namespace, struct failure *failure);

// Makes the caller the root of a new user namespace, which maps it to the caller's own user, and of a new mount namespace.
bool rootless_enter(struct failure *failure);

#endif
