// What is done in the runtime's child before the runtime is executed: directories, subvolumes and mounts.
#ifndef HEARTH_KEEPER_STEPS_H
#define HEARTH_KEEPER_STEPS_H
#include "failure.h"

// Checks words, numbers of arguments and options of the whole list before anything is done.
bool steps_check(char *const *steps, bool can_map, struct failure *failure);

// Does them in order. The first mount makes a private mount namespace, unless `private_already`.
// user_namespace: of the id mapping, or -1.
bool steps_run(char *const *steps, int user_namespace, bool private_already, struct failure *failure);

#endif
