#ifndef HEARTH_MACHINE_LIMITS_H
#define HEARTH_MACHINE_LIMITS_H
#include <stdbool.h>
#include <stdint.h>

// At most this many processes and threads at once, for every user and root too: the next fork fails with EAGAIN. The guest itself and
// its supervisors have room on top. errno says why it failed.
bool limits_set_pids(unsigned long count);
// How often this machine's kernel has killed a process for want of memory. 0 where the kernel is not the sandbox's own: there the host knows.
uint64_t limits_oom_kills(void);
#endif
