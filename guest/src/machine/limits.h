#ifndef HEARTH_MACHINE_LIMITS_H
#define HEARTH_MACHINE_LIMITS_H
#include <stdbool.h>

// At most this many processes and threads at once, for every user and root too: the next fork fails with EAGAIN. The guest itself and
// its supervisors have room on top. errno says why it failed.
bool limits_set_pids(unsigned long count);
#endif
