// Which kernel this is, where that makes a difference.
#ifndef HEARTH_KERNEL_H
#define HEARTH_KERNEL_H
#include <stdbool.h>

// gVisor says so by the release that it always has.
bool kernel_is_gvisor(void);
#endif
