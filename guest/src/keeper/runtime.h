// The runtime: the one child of the keeper that is the sandbox.
#ifndef HEARTH_KEEPER_RUNTIME_H
#define HEARTH_KEEPER_RUNTIME_H
#include "launch.h"
#include <sys/types.h>

struct runtime {
  pid_t pid;
  int link;   // our end of its standard input and output
  int errors; // what it says on standard error
};

// Starts it and returns when it is being executed. SIGTERM on the signals' descriptor gives it up.
bool runtime_start(const struct launch *launch, int signals, struct runtime *runtime, struct failure *failure);

#endif
