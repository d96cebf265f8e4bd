#define _GNU_SOURCE
#include "trace/proc-files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANCESTORS 64

static ssize_t read_file(uint32_t pid, const char *name, char *bytes, size_t most) {
  char path[48];
  snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return -1;
  ssize_t length = read(descriptor, bytes, most);
  close(descriptor);
  return length;
}

void proc_arguments(uint32_t pid, struct arguments *arguments) {
  ssize_t length = read_file(pid, "cmdline", arguments->bytes, ARGUMENT_BYTES);
  arguments->cut = length == ARGUMENT_BYTES;
  arguments->name_only = length <= 0;
  // Of the dead the name alone is left, until they are reaped.
  if (length <= 0) length = read_file(pid, "comm", arguments->bytes, ARGUMENT_BYTES) - 1;
  arguments->length = length > 0 ? (size_t)length : 0;
}

static uint32_t parent_of(uint32_t pid) {
  char text[512];
  ssize_t length = read_file(pid, "stat", text, sizeof text - 1);
  if (length <= 0) return 0;
  text[length] = 0;
  // ") S 123": the name is in parentheses and may itself contain any of them.
  const char *end = strrchr(text, ')');
  return end && strlen(end) > 4 ? (uint32_t)strtoul(end + 4, NULL, 10) : 0;
}

static struct traced *follow(uint32_t pid, int depth) {
  struct traced *known = tracker_find(pid);
  if (known || pid <= GUEST_PID || depth == ANCESTORS) return known;
  uint32_t parent = parent_of(pid);
  if (parent == 0) return NULL;
  follow(parent, depth + 1);
  return tracker_forked(pid, parent);
}

struct traced *proc_follow(uint32_t pid) { return follow(pid, 0); }

void proc_follow_all(void) {
  DIR *entries = opendir("/proc");
  if (!entries) return;
  struct dirent *entry;
  while ((entry = readdir(entries))) {
    uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
    if (pid) proc_follow(pid);
  }
  closedir(entries);
}
