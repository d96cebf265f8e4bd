// Children of the guest: supervisors, workers, and orphans that were passed on to it.
#ifndef HEARTH_CHILDREN_H
#define HEARTH_CHILDREN_H
#include <stdbool.h>
#include <sys/types.h>

// Takes over the signals of the process.
bool children_open(void);
void children_close(void);
// Kills the children that are neither supervisors nor workers, and all below them.
void children_kill_strays(void);
// Kills everything below the guest and reaps it.
void children_kill_all(void);
// In a forked child: signals as a fresh process has them, nothing blocked.
void children_reset_signals(void);
#endif
