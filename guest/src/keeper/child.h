// What the keeper's child does between fork and execve.
#ifndef HEARTH_KEEPER_CHILD_H
#define HEARTH_KEEPER_CHILD_H
#include "launch.h"
#include <sys/types.h>

struct child_place {
  int link;           // becomes standard input and output
  int errors;         // becomes standard error
  int report;         // takes a struct failure when the runtime cannot be executed
  int user_namespace; // or -1
  pid_t keeper;
};

_Noreturn void child_run(const struct launch *launch, struct child_place place);

#endif
