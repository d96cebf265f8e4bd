// The tree below a process, from the parents in /proc: it finds also what has left its session and its group.
#include "process-tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TREE_LIMIT 131072

struct entry {
  pid_t pid, parent;
  bool zombie, below;
};

struct table {
  struct entry *entries;
  int count, capacity;
};

static bool read_entry(const char *name, struct entry *entry) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%.20s/stat", name);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  ssize_t length = read(descriptor, text, sizeof text - 1);
  close(descriptor);
  if (length <= 0) return false;
  text[length] = 0;
  // The command's name is in parentheses and may itself contain any of them.
  char *end = strrchr(text, ')');
  char state;
  int parent;
  if (!end || sscanf(end + 1, " %c %d", &state, &parent) != 2) return false;
  *entry = (struct entry){atoi(name), parent, state == 'Z' || state == 'X', false};
  return true;
}

static bool add(struct table *table, struct entry entry) {
  if (table->count == table->capacity) {
    int capacity = table->capacity ? table->capacity * 2 : 256;
    struct entry *entries = capacity <= TREE_LIMIT ? realloc(table->entries, (size_t)capacity * sizeof *entries) : NULL;
    if (!entries) return false;
    table->entries = entries;
    table->capacity = capacity;
  }
  table->entries[table->count++] = entry;
  return true;
}

static void read_table(struct table *table) {
  DIR *directory = opendir("/proc");
  if (!directory) return;
  for (struct dirent *item; (item = readdir(directory));) {
    struct entry entry;
    if (item->d_name[0] < '1' || item->d_name[0] > '9' || !read_entry(item->d_name, &entry)) continue;
    if (!add(table, entry)) break;
  }
  closedir(directory);
}

static int by_pid(const void *a, const void *b) {
  pid_t left = ((const struct entry *)a)->pid, right = ((const struct entry *)b)->pid;
  return (left > right) - (left < right);
}

static bool parent_is_below(struct table *table, const struct entry *entry, pid_t root) {
  if (entry->parent == root) return true;
  struct entry key = {.pid = entry->parent};
  struct entry *parent = bsearch(&key, table->entries, (size_t)table->count, sizeof key, by_pid);
  return parent && parent->below;
}

int process_tree_signal_except(pid_t root, int signal, int (*spared)(pid_t child)) {
  struct table table = {0};
  read_table(&table);
  if (table.count) qsort(table.entries, (size_t)table.count, sizeof *table.entries, by_pid);
  int found = 0;
  // A child may have a lower number than its parent once numbers were used up, so go on until nothing is new.
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < table.count; i++) {
      struct entry *entry = &table.entries[i];
      if (entry->below || entry->pid == root || !parent_is_below(&table, entry, root)) continue;
      if (spared && entry->parent == root && spared(entry->pid)) continue;
      entry->below = changed = true;
      // What may not be signalled must not be waited for either.
      if (!entry->zombie && kill(entry->pid, signal) == 0) found++;
    }
  }
  free(table.entries);
  return found;
}

int process_tree_signal(pid_t root, int signal) { return process_tree_signal_except(root, signal, NULL); }
