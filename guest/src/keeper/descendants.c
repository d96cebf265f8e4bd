#define _GNU_SOURCE
#include "descendants.h"
#include "text-file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_PROCESSES (1u << 20)

bool process_list_add(struct process_list *list, int pid) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? list->capacity * 2 : 64;
    int *pids = capacity <= MOST_PROCESSES ? realloc(list->pids, capacity * sizeof *pids) : NULL;
    if (!pids) return false;
    list->pids = pids;
    list->capacity = capacity;
  }
  list->pids[list->count++] = pid;
  return true;
}

// The kernel's list of the children of one thread, a number and a blank each. False where the kernel was built without it.
static bool each_child(const char *path, bool (*found)(struct process_list *list, int pid), struct process_list *list) {
  char chunk[1024];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  int pid = 0;
  bool wanted = true;
  ssize_t count;
  while (wanted && (count = read(fd, chunk, sizeof chunk)) > 0)
    for (ssize_t i = 0; i < count && wanted; i++) {
      if (chunk[i] >= '0' && chunk[i] <= '9') {
        pid = pid * 10 + (chunk[i] - '0');
        continue;
      }
      if (pid > 0) wanted = found(list, pid);
      pid = 0;
    }
  close(fd);
  return true;
}

static bool kill_one(struct process_list *list, int pid) {
  (void)list;
  kill(pid, SIGKILL);
  return true;
}

static void own_children_path(char *path, size_t size) { snprintf(path, size, "/proc/self/task/%d/children", (int)getpid()); }

static bool kill_listed(void) {
  char path[64];
  own_children_path(path, sizeof path);
  return each_child(path, kill_one, NULL);
}

// The state and the parent. False when there is no such process.
static bool read_status(int pid, char *state, int *parent) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  if (text_file_get(path, text, sizeof text) < 0) return false;
  // The name of the program may hold anything, also parentheses; what follows the last one may not.
  char *after = strrchr(text, ')');
  if (!after || strlen(after) <= 4) return false;
  *state = after[2];
  *parent = atoi(after + 4);
  return true;
}

char process_state(int pid) {
  char state;
  int parent;
  return read_status(pid, &state, &parent) ? state : 'X';
}

static int parent_of(int pid) {
  char state;
  int parent;
  return read_status(pid, &state, &parent) ? parent : -1;
}

static void kill_found(void) {
  DIR *processes = opendir("/proc");
  if (!processes) return;
  int self = getpid();
  struct dirent *entry;
  while ((entry = readdir(processes)) != NULL) {
    int pid = atoi(entry->d_name);
    if (pid > 0 && parent_of(pid) == self) kill(pid, SIGKILL);
  }
  closedir(processes);
}

void descendants_kill(void) {
  if (!kill_listed()) kill_found();
}

// Each thread has children of its own.
static void list_children(struct process_list *list, int pid) {
  char path[64 + NAME_MAX];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *threads = opendir(path);
  if (!threads) return;
  struct dirent *entry;
  while ((entry = readdir(threads)) != NULL) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", pid, entry->d_name);
    each_child(path, process_list_add, list);
  }
  closedir(threads);
}

// Without the kernel's lists: every process of the host whose parent is in the list, until no more are found.
static bool list_by_parents(int ancestor, struct process_list *list) {
  struct process_list pids = {0}, parents = {0};
  DIR *processes = opendir("/proc");
  struct dirent *entry;
  bool room = processes != NULL;
  while (room && (entry = readdir(processes)) != NULL) {
    int pid = atoi(entry->d_name);
    if (pid > 0) room = process_list_add(&pids, pid) && process_list_add(&parents, parent_of(pid));
  }
  if (processes) closedir(processes);
  for (size_t next = 0; room && next <= list->count; next++) {
    int parent = next == 0 ? ancestor : list->pids[next - 1];
    for (size_t i = 0; room && i < pids.count; i++)
      if (parents.pids[i] == parent) room = process_list_add(list, pids.pids[i]);
  }
  free(pids.pids);
  free(parents.pids);
  return room;
}

static bool thread_runs_for_tracer(const char *path) {
  char text[1024];
  if (text_file_get(path, text, sizeof text) < 0) return false;
  const char *state = strstr(text, "\nState:\t"), *tracer = strstr(text, "\nTracerPid:\t");
  return state && tracer && state[strlen("\nState:\t")] != 't' && atoi(tracer + strlen("\nTracerPid:\t")) > 0;
}

bool process_runs_for_tracer(int pid) {
  char path[64 + NAME_MAX];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *threads = opendir(path);
  if (!threads) return false;
  bool runs = false;
  struct dirent *entry;
  while (!runs && (entry = readdir(threads)) != NULL) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/task/%s/status", pid, entry->d_name);
    runs = thread_runs_for_tracer(path);
  }
  closedir(threads);
  return runs;
}

bool descendants_list(struct process_list *list) { return descendants_list_of(getpid(), list); }

bool descendants_list_of(int ancestor, struct process_list *list) {
  char path[64];
  own_children_path(path, sizeof path);
  if (access(path, R_OK) != 0) return list_by_parents(ancestor, list);
  list_children(list, ancestor);
  for (size_t next = 0; next < list->count; next++) list_children(list, list->pids[next]);
  return list->count < MOST_PROCESSES;
}
