// What the keeper's child does until it executes the runtime.
#ifndef HEARTH_KEEPER_CHILD_H
#define HEARTH_KEEPER_CHILD_H
#include "launch.h"
#include <sys/types.h>

struct child_place {
  int link;    // becomes standard input and output
  int errors;  // becomes standard error
  int orders;  // gives the payload of KeeperLaunch
  int reports; // takes a struct failure: one without a number when the cgroups are joined, another when something fails
  pid_t keeper;
};

// Joins the cgroups, waits for KeeperLaunch, follows it and executes the runtime.
_Noreturn void child_run(char *const *cgroups, struct child_place place);

#endif
