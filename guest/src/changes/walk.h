// Compares two stacks of overlay layers and writes the differences.
#ifndef HEARTH_CHANGES_WALK_H
#define HEARTH_CHANGES_WALK_H
#include "changes/differ.h"
#include "changes/merged.h"
#include "changes/record.h"
#include "changes/selection.h"

struct walk {
  enum overlay_attributes attributes;
  // Above it the walk fails with E2BIG: entries that are looked at, and changes.
  uint64_t entry_limit, change_limit;
  struct reading reading;
  // Content of files up to this size goes along, as long as the sum is not above the second.
  uint64_t content_limit, content_left;
  bool with_content;
  struct buffered_output *writer;
  // The rest is the walk's own.
  uint64_t entries, changes;
  size_t length;
  char path[4096];
};

// `chosen`: what is asked for. `touched`: what can have changed at all. 0 or an errno, with the path where it happened in `path`.
int walk_changes(struct walk *walk, const struct merged *before, const struct merged *after, struct cursor chosen, struct cursor touched);
#endif
