// A set of paths in an order in which everything below a path follows it, and a place within it while a tree is walked.
#ifndef HEARTH_CHANGES_SELECTION_H
#define HEARTH_CHANGES_SELECTION_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct selected {
  char *path;  // without a leading slash
  bool deep;   // everything below it too
};

struct selection {
  struct selected *items;
  size_t count, room;
  size_t limit;
};

// ENOMEM, or E2BIG above the limit.
int selection_add(struct selection *selection, const char *path, size_t length, bool deep);
// The same for what lies below the directory `prefix`, without it; other paths are passed over. An empty prefix is the top.
int selection_add_below(struct selection *selection, const char *prefix, const char *path, size_t length, bool deep);
// Before the first cursor. Equal paths become one.
void selection_sort(struct selection *selection);
void selection_free(struct selection *selection);

// What is selected below one directory. Without a selection: everything.
struct cursor {
  const struct selection *selection;
  size_t first, end;  // the items below the directory
  size_t prefix;      // characters of the directory with its slash
};

extern const struct cursor CURSOR_EVERYTHING;
struct cursor cursor_start(const struct selection *selection);

enum chosen { CHOSEN_NOT, CHOSEN_ABOVE, CHOSEN_ITSELF };

// Whether an entry of the directory is selected, or something below it; and the cursor for what is in it.
enum chosen cursor_enter(const struct cursor *cursor, const char *name, struct cursor *inside);
// The next different name at or behind a position; NULL at the end. The length is of the name alone.
const char *cursor_name(const struct cursor *cursor, size_t *position, size_t *length);
#endif
