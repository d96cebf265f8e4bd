// The tree below a process, from the parents in /proc: it finds also what has left its session and its group. Supervisors use it too, so
// that it makes raw system calls only, on memory of its own.
#define _GNU_SOURCE
#include "process-tree.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "raw-calls.h"

#define TREE_LIMIT 131072
#define PID_LIMIT (4u << 20)  // of the kernel, at the most

struct entry {
  pid_t pid, parent;
  bool zombie;
};

// Large, but only what is used of it is ever touched.
struct table {
  char names[32768];  // of directory entries, with their alignment
  uint8_t below[PID_LIMIT / 8];
  struct entry entries[TREE_LIMIT];
  int count;
};

struct directory_entry {
  uint64_t inode, offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

static bool is_below(const struct table *table, pid_t pid) { return table->below[pid / 8] >> (pid % 8) & 1; }

static void mark_below(struct table *table, pid_t pid) { table->below[pid / 8] |= (uint8_t)(1u << (pid % 8)); }

static pid_t parse_number(const char *text) {
  uint32_t number = 0;
  for (; *text >= '0' && *text <= '9' && number < PID_LIMIT; text++) number = number * 10 + (uint32_t)(*text - '0');
  return (pid_t)number;
}

static bool read_entry(int proc, const char *name, struct entry *entry) {
  char path[32], text[512];
  size_t length = strlen(name);
  if (length + sizeof "/stat" > sizeof path) return false;
  memcpy(path, name, length);
  memcpy(path + length, "/stat", sizeof "/stat");
  int descriptor = (int)raw_call(SYS_openat, proc, path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  long count = raw_call(SYS_read, descriptor, text, sizeof text - 1);
  raw_call(SYS_close, descriptor);
  if (count <= 0) return false;
  text[count] = 0;
  // ") S 123": the command's name is in parentheses and may itself contain any of them.
  const char *end = strrchr(text, ')');
  if (!end || strlen(end) < 5) return false;
  *entry = (struct entry){parse_number(name), parse_number(end + 4), end[2] == 'Z' || end[2] == 'X'};
  return (uint32_t)entry->pid < PID_LIMIT && (uint32_t)entry->parent < PID_LIMIT;
}

static void read_table(struct table *table, int proc) {
  for (;;) {
    long length = raw_call(SYS_getdents64, proc, table->names, sizeof table->names);
    if (length <= 0) return;
    for (long at = 0; at < length;) {
      const struct directory_entry *item = (const void *)(table->names + at);
      at += item->length;
      if (item->name[0] < '1' || item->name[0] > '9') continue;
      if (table->count == TREE_LIMIT) return;
      if (read_entry(proc, item->name, &table->entries[table->count])) table->count++;
    }
  }
}

static int signal_below(struct table *table, pid_t root, int signal, int (*spared)(pid_t child)) {
  int found = 0;
  // A child may have a lower number than its parent once numbers were used up, so go on until nothing is new.
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < table->count; i++) {
      const struct entry *entry = &table->entries[i];
      if (entry->pid == root || is_below(table, entry->pid)) continue;
      if (entry->parent != root && !is_below(table, entry->parent)) continue;
      if (spared && entry->parent == root && spared(entry->pid)) continue;
      mark_below(table, entry->pid);
      changed = true;
      // What may not be signalled must not be waited for either.
      if (!entry->zombie && raw_call(SYS_kill, entry->pid, signal) == 0) found++;
    }
  }
  return found;
}

int process_tree_signal_except(pid_t root, int signal, int (*spared)(pid_t child)) {
  int proc = (int)raw_call(SYS_openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return 0;
  long memory = raw_call(SYS_mmap, NULL, sizeof(struct table), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int found = 0;
  if (memory > 0) {
    struct table *table = (struct table *)memory;
    read_table(table, proc);
    found = signal_below(table, root, signal, spared);
    raw_call(SYS_munmap, table, sizeof *table);
  }
  raw_call(SYS_close, proc);
  return found;
}

int process_tree_signal(pid_t root, int signal) { return process_tree_signal_except(root, signal, NULL); }
