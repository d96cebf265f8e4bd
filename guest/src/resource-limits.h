// Limits of the kernel on single processes: those that the guest found, and those that a command gets.
#ifndef HEARTH_RESOURCE_LIMITS_H
#define HEARTH_RESOURCE_LIMITS_H
#include "supervision.h"

// Remembers what there was, and lets the guest open as many files as it may. Once, at the start.
void resource_limits_open(void);
void resource_limits_prepare(struct launch *launch);
#endif
