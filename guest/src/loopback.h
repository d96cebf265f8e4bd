// The loopback interface of the network that this process is in.
#ifndef HEARTH_LOOPBACK_H
#define HEARTH_LOOPBACK_H
#include <stdbool.h>

// A program in the sandbox expects one; where the runtime has brought it up, or forbids it, nothing is lost.
void loopback_bring_up(void);
bool loopback_is_up(void);
#endif
