#ifndef HEARTH_MACHINE_MOUNTS_H
#define HEARTH_MACHINE_MOUNTS_H
#include <stdbool.h>

#include "command-line.h"

// /proc, /sys and /dev of the initramfs.
bool mounts_kernel_interfaces(void);
// Joins base and upper, makes the result the root and mounts what programs expect there. errno says why it failed.
bool mounts_root(const struct command_line *line);
// A descriptor on the disk of changes, whose mount cannot be reached by a path any more; -1 when there is none.
int mounts_changes(void);
// Descriptors on the layers of the root, topmost first; -1 when this is no machine.
int mounts_layer(int number);
#endif
