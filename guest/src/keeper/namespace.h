// User namespaces of a sandbox.
#ifndef HEARTH_KEEPER_NAMESPACE_H
#define HEARTH_KEEPER_NAMESPACE_H
#include "failure.h"
#include <stdint.h>

struct user_namespace {
  int descriptor;
  int user_map; // to be written once
  int group_map;
};

// A new user namespace, whose ids are not mapped yet. Making one is slow, hence ahead of time; mapping it is not.
bool user_namespace_make(struct user_namespace *made, struct failure *failure);

// Maps 0..count-1 to base...
bool user_namespace_map(const struct user_namespace *made, uint32_t base, uint32_t count, struct failure *failure);

// Makes the caller the root of an existing one, without supplementary groups.
bool user_namespace_enter(int user_namespace, struct failure *failure);

// Makes the caller the root of a new user namespace, which maps it to the caller's own user, and of a new mount namespace.
bool rootless_enter(struct failure *failure);

#endif
