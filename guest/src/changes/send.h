// What differs between two read-only btrfs subvolumes, found in time that depends on the differences alone.
#ifndef HEARTH_CHANGES_SEND_H
#define HEARTH_CHANGES_SEND_H
#include "changes/selection.h"

// The paths below the directory `prefix` of each that may differ, empty for the top. 0 or an errno: then nothing is known, and a walk finds out.
int send_touched(const char *before, const char *after, const char *prefix, struct selection *touched);
#endif
