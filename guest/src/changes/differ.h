// Whether two leaves or directories of one path differ, without reading more than allowed.
#ifndef HEARTH_CHANGES_DIFFER_H
#define HEARTH_CHANGES_DIFFER_H
#include "changes/merged.h"

// Bytes that may be read to find files of one size equal; beyond it they count as changed.
struct reading {
  uint64_t file_limit, left;
};

int differ(const struct node *before, const struct node *after, const char *name, struct reading *reading, bool *result);
// Opens a regular file that is still the one which was looked at, or -1 with errno.
int open_leaf(const struct node *node, const char *name);
#endif
