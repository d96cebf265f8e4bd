// A supervisor that was forked ahead of its command: while one command runs the next one's supervisor is made ready, so that a
// command costs little more than its own exec.
#ifndef HEARTH_STANDBY_H
#define HEARTH_STANDBY_H
#include <sys/types.h>

#include "supervisor.h"

// The supervisor that took the launch, or -1: then the caller forks one itself.
pid_t standby_take(const struct launch *launch);
// Makes one ready, unless there is. It is given up after a few seconds without a command.
void standby_prepare(void);
void standby_stop(void);
pid_t standby_pid(void);
// It was reaped without having had work.
void standby_ended(pid_t pid);
#endif
