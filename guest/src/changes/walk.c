#define _GNU_SOURCE
#include "changes/walk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "changes/names.h"

#define DEPTH_LIMIT 512

static const struct merged NOTHING = {0};

struct pair {
  const struct merged *before, *after;
  struct cursor chosen, touched;
  int depth;
};

static int walk_directory(struct walk *walk, const struct pair *pair);

// The header has promised a size: a file that shrank is filled up, one that grew is cut.
static int send_content(struct walk *walk, const struct node *node, const char *name) {
  static uint8_t part[65536];
  int descriptor = open_leaf(node, name);
  if (descriptor < 0) return errno;
  int error = 0;
  for (uint64_t left = (uint64_t)node->status.st_size; left && !error;) {
    size_t wanted = left < sizeof part ? (size_t)left : sizeof part;
    ssize_t count = read(descriptor, part, wanted);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) error = errno;
    if (count == 0) memset(part, 0, wanted);
    if (count == 0) count = (ssize_t)wanted;
    if (!error) error = buffered_bytes(walk->writer, part, (size_t)count);
    left -= (uint64_t)count;
  }
  close(descriptor);
  return error;
}

static bool takes_content(struct walk *walk, const struct node *after) {
  uint64_t size = (uint64_t)after->status.st_size;
  if (!walk->with_content || after->kind != NODE_LEAF || !S_ISREG(after->status.st_mode)) return false;
  if (size > walk->content_limit || size > walk->content_left) return false;
  walk->content_left -= size;
  return true;
}

static int report(struct walk *walk, enum change change, const struct node *before, const struct node *after, const char *name) {
  char target[PATH_MAX] = "";
  const struct node *shown = change == CHANGE_REMOVED ? before : after;
  if (++walk->changes > walk->change_limit) return E2BIG;
  if (S_ISLNK(shown->status.st_mode)) {
    ssize_t length = readlinkat(shown->holder.directory, name, target, sizeof target - 1);
    if (length < 0) return errno;
    target[length] = 0;
  }
  struct record record = {
      .change = change,
      .before = before->kind == NODE_ABSENT ? NULL : &before->status,
      .after = after->kind == NODE_ABSENT ? NULL : &after->status,
      .path = walk->path,
      .target = target,
      .content = change != CHANGE_REMOVED && takes_content(walk, after),
  };
  int error = record_write(walk->writer, &record);
  return error || !record.content ? error : send_content(walk, after, name);
}

// Nothing, or one record of this entry itself.
static int compare_entry(struct walk *walk, const struct node *before, const struct node *after, const char *name) {
  if (before->kind == NODE_ABSENT && after->kind == NODE_ABSENT) return 0;
  if (before->kind == NODE_ABSENT) return report(walk, CHANGE_ADDED, before, after, name);
  if (after->kind == NODE_ABSENT) return report(walk, CHANGE_REMOVED, before, after, name);
  bool different = file_type_number(before->status.st_mode) != file_type_number(after->status.st_mode);
  int error = different ? 0 : differ(before, after, name, &walk->reading, &different);
  return error || !different ? error : report(walk, CHANGE_CHANGED, before, after, name);
}

// Below directories that are not one and the same, everything may differ.
static bool same_directory(const struct node *before, const struct node *after) {
  int shared = merged_shared(&before->inside, &after->inside);
  return before->inside.count - shared == 1 && after->inside.count - shared == 1 && before->status.st_ino == after->status.st_ino;
}

static int descend(struct walk *walk, const struct pair *pair, const struct node *before, const struct node *after, struct pair *inside, enum chosen chosen) {
  bool both = before->kind == NODE_DIRECTORY && after->kind == NODE_DIRECTORY;
  // What was removed is named as a whole, unless only something in it is asked for.
  if (after->kind != NODE_DIRECTORY && (chosen == CHOSEN_ITSELF || before->kind != NODE_DIRECTORY)) return 0;
  int shared = merged_shared(&before->inside, &after->inside);
  if (both && before->inside.count == shared && after->inside.count == shared) return 0;
  if (!both || !same_directory(before, after)) inside->touched = CURSOR_EVERYTHING;
  if (pair->depth >= DEPTH_LIMIT) return ELOOP;
  inside->before = before->kind == NODE_DIRECTORY ? &before->inside : &NOTHING;
  inside->after = after->kind == NODE_DIRECTORY ? &after->inside : &NOTHING;
  inside->depth = pair->depth + 1;
  return walk_directory(walk, inside);
}

static int walk_nodes(struct walk *walk, const struct pair *pair, const char *name, struct node *before, struct node *after) {
  struct pair inside = *pair;
  enum chosen chosen = cursor_enter(&pair->chosen, name, &inside.chosen);
  if (chosen == CHOSEN_NOT || cursor_enter(&pair->touched, name, &inside.touched) == CHOSEN_NOT) return 0;
  if (++walk->entries > walk->entry_limit) return E2BIG;
  int error = merged_find(pair->before, name, walk->attributes, before);
  if (!error) error = merged_find(pair->after, name, walk->attributes, after);
  if (error) return error;
  if (chosen == CHOSEN_ITSELF) error = compare_entry(walk, before, after, name);
  return error ? error : descend(walk, pair, before, after, &inside, chosen);
}

// On an error the path stays, to say where it happened.
static int walk_entry(struct walk *walk, const struct pair *pair, const char *name) {
  size_t length = walk->length, room = sizeof walk->path - length;
  size_t added = (size_t)snprintf(walk->path + length, room, "%s%s", length ? "/" : "", name);
  if (added >= room) return ENAMETOOLONG;
  walk->length += added;
  struct node before = {.kind = NODE_ABSENT}, after = {.kind = NODE_ABSENT};
  int error = walk_nodes(walk, pair, name, &before, &after);
  merged_release(&before.inside);
  merged_release(&after.inside);
  if (error) return error;
  walk->length = length;
  walk->path[length] = 0;
  return 0;
}

static int gather(const struct walk *walk, const struct pair *pair, struct names *names) {
  if (pair->touched.selection) return names_of(names, &pair->touched);
  if (pair->chosen.selection) return names_of(names, &pair->chosen);
  int shared = merged_shared(pair->before, pair->after);
  uint64_t limit = walk->entry_limit - walk->entries;
  int error = names_read(names, pair->before, pair->before->count - shared, limit);
  return error ? error : names_read(names, pair->after, pair->after->count - shared, limit);
}

static int walk_directory(struct walk *walk, const struct pair *pair) {
  struct names names = {0};
  int error = gather(walk, pair, &names);
  names_sort(&names);
  for (size_t i = 0; i < names.count && !error; i++) error = walk_entry(walk, pair, names.items[i]);
  names_free(&names);
  return error;
}

int walk_changes(struct walk *walk, const struct merged *before, const struct merged *after, struct cursor chosen, struct cursor touched) {
  struct pair pair = {before, after, chosen, touched, 0};
  return walk_directory(walk, &pair);
}
