// Freeze and Thaw: the guest falls silent, so that a copy of it that wakes elsewhere owes nothing to a stream that it never had.
#ifndef HEARTH_FREEZE_H
#define HEARTH_FREEZE_H
#include <stdbool.h>
#include <stdint.h>

// A descriptor on the file system of changes, where the kernel is the sandbox's own; -1 elsewhere.
void freeze_open(int changes);
// Answers Frozen. False when there is no memory for it.
bool freeze_begin(uint32_t flags);
// forget: the session that was frozen is over. Nothing happens when none is.
void freeze_end(bool forget);
bool freeze_holds(void);
#endif
