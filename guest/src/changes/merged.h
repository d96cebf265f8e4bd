// The joined view of overlay layers, name by name: whiteouts hide, opaque directories cut, files cover.
// Everything in a layer is hostile: no link is ever followed, and each directory is entered by its descriptor.
#ifndef HEARTH_CHANGES_MERGED_H
#define HEARTH_CHANGES_MERGED_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define MERGED_LAYERS 66

enum node_kind { NODE_ABSENT, NODE_LEAF, NODE_DIRECTORY };

// One layer's share of a directory. The layer is a number: equal numbers at one path are the same directory.
struct part {
  int directory;
  int layer;
};

// Topmost first.
struct merged {
  int count;
  struct part parts[MERGED_LAYERS];
};

struct node {
  enum node_kind kind;
  struct stat status;  // of the topmost
  struct part holder;  // of a leaf: the directory that it lies in
  struct merged inside;  // of a directory
};

// OVERLAY_NONE: of a plain directory, in which nothing hides anything.
enum overlay_attributes { OVERLAY_TRUSTED, OVERLAY_USER, OVERLAY_NONE };

// 0 or an errno. What was opened is the caller's to release.
int merged_find(const struct merged *directory, const char *name, enum overlay_attributes attributes, struct node *node);
void merged_release(struct merged *merged);
// How many parts at the end both have in common: what only those hold is the same in both.
int merged_shared(const struct merged *one, const struct merged *other);
#endif
