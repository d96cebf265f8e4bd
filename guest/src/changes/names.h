// The names that a walk looks at in one directory: sorted, each once.
#ifndef HEARTH_CHANGES_NAMES_H
#define HEARTH_CHANGES_NAMES_H
#include "changes/merged.h"
#include "changes/selection.h"

struct names {
  char **items;
  size_t count, room;
};

// Those of the first `parts` layers of a directory, `limit` at the most. 0 or an errno.
int names_read(struct names *names, const struct merged *directory, int parts, uint64_t limit);
int names_of(struct names *names, const struct cursor *cursor);
void names_sort(struct names *names);
void names_free(struct names *names);
#endif
