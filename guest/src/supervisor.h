// The small process between the guest and each command: reaper of its descendants, hand of its signals.
#ifndef HEARTH_SUPERVISOR_H
#define HEARTH_SUPERVISOR_H
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "users.h"

// Sent by the guest with the signal number as value: signal the whole tree.
#define TREE_SIGNAL (SIGRTMIN + 3)

struct launch {
  char **argv;
  char **environment;
  const char *path;  // PATH of the new environment
  const char *directory;
  const struct user *user;
  bool switch_user, terminal;
  int input, output, error, status;
  uint32_t open_files, pids;  // 0: as the guest found it
};

_Noreturn void supervisor_run(const struct launch *launch);

struct launch_error {
  int error;
  uint32_t stage;
};
// execute.c: the pid of the new process, or -1 and why.
int execute(const struct launch *launch, struct launch_error *failure);
#endif
