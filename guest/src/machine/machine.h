// The guest as the first program of a virtual machine. See "In a microVM" in protocol.md.
#ifndef HEARTH_MACHINE_H
#define HEARTH_MACHINE_H
#include <stdbool.h>

struct machine {
  bool own_kernel;  // a machine of its own: nothing is behind the guest but the hardware
  int input, output;
  int changes;  // a descriptor on the disk of changes; -1 when there is none
};

// When this is a machine's init: mounts everything and opens the port. Else leaves all as it is. False when it cannot go on.
bool machine_enter(struct machine *machine);
// Syncs and switches the machine off.
void machine_leave(void);
#endif
