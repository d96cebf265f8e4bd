// Gives a process that serves files to a sandbox another root, before it has served any.
#ifndef HEARTH_KEEPER_ROOT_SWAP_H
#define HEARTH_KEEPER_ROOT_SWAP_H
#include "failure.h"
#include <sys/types.h>

struct root_swap {
  pid_t runtime;      // what the process is a descendant of
  const char *name;   // the first argument of the process
  const char *root;   // becomes its root, with what is mounted on it
  char *const *binds; // source, place below the new root, and so on: shown there, read-only
  int user_namespace; // as whose root a missing place is made
};

// The calling process is in the namespaces of that one afterwards, and good for nothing else.
bool root_swap(const struct root_swap *swap, struct failure *failure);

#endif
