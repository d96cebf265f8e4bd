// Takes the system call membarrier away from the runtime.
#ifndef HEARTH_KEEPER_MEMBARRIER_H
#define HEARTH_KEEPER_MEMBARRIER_H
#include "failure.h"

// From here on membarrier fails with ENOSYS, in this process and in all that come from it.
bool membarrier_refuse(struct failure *failure);

#endif
