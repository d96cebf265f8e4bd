#ifndef HEARTH_MACHINE_LIMITS_H
#define HEARTH_MACHINE_LIMITS_H
#include <stdbool.h>
#include <stdint.h>

// At most this many processes and threads at once, for every user and root too: the next fork fails with EAGAIN. The guest itself and
// its supervisors have room on top. errno says why it failed.
bool limits_set_pids(unsigned long count);
// Another limit from now on. Nothing where limits_set_pids was not called, or with 0. An errno when it fails.
int limits_change_pids(unsigned long count);
// How often the kernel has killed a process of the sandbox for want of memory, where it can be seen from inside: in a machine, and in
// containers whose engine shows them their cgroup. Elsewhere 0; there the host knows.
uint64_t limits_oom_kills(void);
#endif
