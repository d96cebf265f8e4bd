// Capabilities that the guest keeps to itself. Root inside has the others.
#ifndef HEARTH_CAPABILITIES_H
#define HEARTH_CAPABILITIES_H
#include <stdbool.h>

// Leaves to programs that are executed no more than COMMAND_CAPABILITIES. False when they could have what only the guest may.
bool capabilities_keep_own(void);
bool capabilities_has(int capability);
#endif
