// Brings changes into a tree: all of them, or none.
#ifndef HEARTH_CHANGES_APPLY_H
#define HEARTH_CHANGES_APPLY_H
#include <stdint.h>

// Reads operations up to the commit, then carries them out below `root`. What fails before all are read, or does not find what it expects
// (ESTALE), changes nothing; what fails later is undone. 0 or an errno, and the path where it happened.
int apply_changes(int root, int input, uint64_t *applied, char *what, uint32_t what_size);
#endif
