// What keeps a command inside a network of its own: it gets no right to join another, and no hold on a process that is in another.
#ifndef HEARTH_CONFINE_H
#define HEARTH_CONFINE_H
#include <stdbool.h>

// Whether this kernel can. Cheap.
bool confine_is_possible(void);
// In the process that is about to execute: by raw system calls alone. 0 or a positive errno. own_kernel: it is the machine's own, whose disks and
// settings root could use to become somebody else.
int confine(bool own_kernel);
#endif
