#include "changes/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct cursor CURSOR_EVERYTHING = {0};

int selection_add(struct selection *selection, const char *path, size_t length, bool deep) {
  if (selection->count >= selection->limit) return E2BIG;
  if (selection->count == selection->room) {
    size_t room = selection->room ? selection->room * 2 : 256;
    struct selected *items = realloc(selection->items, room * sizeof *items);
    if (!items) return ENOMEM;
    selection->items = items;
    selection->room = room;
  }
  char *copy = malloc(length + 1);
  if (!copy) return ENOMEM;
  memcpy(copy, path, length);
  copy[length] = 0;
  selection->items[selection->count++] = (struct selected){copy, deep};
  return 0;
}

int selection_add_below(struct selection *selection, const char *prefix, const char *path, size_t length, bool deep) {
  size_t skipped = strlen(prefix);
  if (skipped > 0) {
    if (length <= skipped + 1 || memcmp(path, prefix, skipped) != 0 || path[skipped] != '/') return 0;
    skipped++;
  }
  return length > skipped ? selection_add(selection, path + skipped, length - skipped, deep) : 0;
}

// The slash is lower than every other character, so that a directory is followed by its content.
static int rank(char character) { return character == '/' ? 1 : character == 0 ? 0 : (unsigned char)character + 2; }

static int compare(const void *one, const void *other) {
  const char *a = ((const struct selected *)one)->path, *b = ((const struct selected *)other)->path;
  while (*a && *a == *b) a++, b++;
  return rank(*a) - rank(*b);
}

void selection_sort(struct selection *selection) {
  if (selection->count == 0) return;
  qsort(selection->items, selection->count, sizeof *selection->items, compare);
  size_t kept = 0;
  for (size_t i = 1; i < selection->count; i++) {
    struct selected *last = &selection->items[kept], *item = &selection->items[i];
    if (strcmp(last->path, item->path) == 0) {
      last->deep |= item->deep;
      free(item->path);
    } else selection->items[++kept] = *item;
  }
  selection->count = kept + 1;
}

void selection_free(struct selection *selection) {
  for (size_t i = 0; i < selection->count; i++) free(selection->items[i].path);
  free(selection->items);
  *selection = (struct selection){.limit = selection->limit};
}

struct cursor cursor_start(const struct selection *selection) {
  // The empty path is the root itself.
  if (selection->count && selection->items[0].path[0] == 0 && selection->items[0].deep) return CURSOR_EVERYTHING;
  return (struct cursor){.selection = selection, .first = 0, .end = selection->count, .prefix = 0};
}

static const char *rest(const struct cursor *cursor, size_t position) { return cursor->selection->items[position].path + cursor->prefix; }

const char *cursor_name(const struct cursor *cursor, size_t *position, size_t *length) {
  while (*position < cursor->end) {
    const char *name = rest(cursor, *position);
    size_t size = strcspn(name, "/");
    if (*position > cursor->first) {
      const char *before = rest(cursor, *position - 1);
      if (strcspn(before, "/") == size && memcmp(before, name, size) == 0) size = 0;
    }
    if (size) {
      *length = size;
      return name;
    }
    (*position)++;
  }
  return NULL;
}

// The sign says on which side of a name's items a position lies.
static int side(const struct cursor *cursor, size_t position, const char *name) {
  const char *text = rest(cursor, position);
  while (*name && *text == *name) text++, name++;
  if (*name == 0) return *text == 0 || *text == '/' ? 0 : 1;
  return rank(*text) < rank(*name) ? -1 : 1;
}

// The first position whose side is at least this.
static size_t bound(const struct cursor *cursor, const char *name, int least) {
  size_t low = cursor->first, high = cursor->end;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (side(cursor, middle, name) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

enum chosen cursor_enter(const struct cursor *cursor, const char *name, struct cursor *inside) {
  *inside = CURSOR_EVERYTHING;
  if (!cursor->selection) return CHOSEN_ITSELF;
  size_t first = bound(cursor, name, 0), end = bound(cursor, name, 1);
  size_t prefix = cursor->prefix + strlen(name);
  *inside = (struct cursor){cursor->selection, first, end, prefix + 1};
  if (first == end) return CHOSEN_NOT;
  const struct selected *item = &cursor->selection->items[first];
  if (item->path[prefix] != 0) return CHOSEN_ABOVE;
  inside->first++;
  if (item->deep) *inside = CURSOR_EVERYTHING;
  return CHOSEN_ITSELF;
}
