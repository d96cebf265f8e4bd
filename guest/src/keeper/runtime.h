// The runtime: the one child of the keeper that is the sandbox. It is forked ahead of time, joins the cgroups, which is
// slow, and waits; the keeper itself stays outside of them, so that neither the sandbox's limits nor its end touch it.
#ifndef HEARTH_KEEPER_RUNTIME_H
#define HEARTH_KEEPER_RUNTIME_H
#include "launch.h"
#include <sys/types.h>

struct runtime {
  pid_t pid;
  int link;    // our end of its standard input and output
  int errors;  // what it says on standard error
  int orders;  // where it waits for the payload of KeeperLaunch; -1 once it was sent
  int reports; // a struct failure from it, or end-of-file when it is being executed
};

// KeeperPrepare: forks it and returns when it is in its cgroups. `engine` and `signals` are not for the child to keep.
bool runtime_prepare(char *const *cgroups, int engine, int signals, struct runtime *runtime, struct failure *failure);

// KeeperLaunch: lets the child go on to execute the runtime.
bool runtime_order(struct runtime *runtime, struct slice launch, struct failure *failure);

// Returns when the runtime is being executed. SIGTERM on the signals' descriptor gives it up.
bool runtime_await(struct runtime *runtime, int signals, struct failure *failure);

// Waits for a struct failure of a child. False when it is a bad one; `end_is_good`: none, by execve, is a good one.
bool report_await(int reports, int signals, bool end_is_good, struct failure *failure);

#endif
