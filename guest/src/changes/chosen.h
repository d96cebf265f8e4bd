// The paths that a comparison is asked for: each ended by a zero byte, behind '+' (all below it too) or '=' (it alone).
#ifndef HEARTH_CHANGES_CHOSEN_H
#define HEARTH_CHANGES_CHOSEN_H
#include "changes/selection.h"

// 0 or an errno. The selection is sorted afterwards.
int chosen_parse(struct selection *chosen, const char *bytes, size_t length);

#endif
