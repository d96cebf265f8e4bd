#define _GNU_SOURCE
#include "network/owner.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loop.h"
#include "network/socket-inode.h"
#include "process.h"

// What is looked at for one connection, so that a sandbox full of processes does not make them slow.
#define PROCESSES 512
#define DESCRIPTORS 1024
#define ANCESTORS 64

// A sandbox with many sockets must not spend its time on finding out whose they are: that takes at most one part in so many.
#define SHARE 10u

// Whether one of the descriptors in this directory is a socket whose name begins so.
static bool holds(int directory, const char *wanted) {
  DIR *entries = fdopendir(directory);
  if (!entries) {
    close(directory);
    return false;
  }
  bool found = false;
  struct dirent *entry;
  for (int i = 0; !found && i < DESCRIPTORS && (entry = readdir(entries)); i++) {
    char target[64];
    ssize_t length = readlinkat(dirfd(entries), entry->d_name, target, sizeof target - 1);
    if (length <= 0) continue;
    target[length] = 0;
    found = strncmp(target, wanted, strlen(wanted)) == 0;
  }
  closedir(entries);
  return found;
}

static bool process_holds(pid_t pid, const char *wanted) {
  char path[32];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d", (int)pid);
  if (stat(path, &status) != 0) return false;
  // The kernel shows what a process has open to its own user, and to nobody else whom it may not trace.
  bool other = status.st_uid != geteuid();
  if (other) setfsgid(status.st_gid), setfsuid(status.st_uid);
  snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
  int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool found = directory >= 0 && holds(directory, wanted);
  if (other) setfsuid(geteuid()), setfsgid(getegid());
  return found;
}

static pid_t parent_of(pid_t pid) {
  char path[32], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  ssize_t length = read(descriptor, text, sizeof text - 1);
  close(descriptor);
  if (length <= 0) return 0;
  text[length] = 0;
  // ") S 123": the command's name is in parentheses and may itself contain any of them.
  const char *end = strrchr(text, ')');
  return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

// 0 for what is below no supervisor.
static uint32_t command_of(pid_t pid) {
  for (int i = 0; i < ANCESTORS && pid > 1; i++, pid = parent_of(pid)) {
    const struct process *process = process_find_supervisor(pid);
    if (process) return process->number;
  }
  return 0;
}

static int list_processes(pid_t pids[PROCESSES]) {
  DIR *entries = opendir("/proc");
  if (!entries) return 0;
  int count = 0;
  struct dirent *entry;
  while (count < PROCESSES && (entry = readdir(entries))) {
    pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
    // Supervisors share the descriptors of the guest.
    if (pid > 0 && pid != getpid() && !process_find_supervisor(pid)) pids[count++] = pid;
  }
  closedir(entries);
  return count;
}

// The one command of which something runs; 0 when there is none or more than one.
static uint32_t only_command(void) {
  const struct process *only = NULL;
  for (const struct process *process = process_first(); process; process = process->next) {
    if (!process->supervision || process->supervisor_gone) continue;
    if (only) return 0;
    only = process;
  }
  return only ? only->number : 0;
}

// The one command that has a socket with such a name; 0 when there is none or more than one.
static uint32_t only_holder(const char *wanted) {
  pid_t pids[PROCESSES];
  uint32_t holder = 0;
  for (int i = list_processes(pids) - 1; i >= 0; i--) {
    if (!process_holds(pids[i], wanted)) continue;
    uint32_t command = command_of(pids[i]);
    if (command == 0 || (holder && holder != command)) return 0;
    holder = command;
  }
  return holder;
}

// The kernel's list of connections is that of all sandboxes and of the host together, and it takes milliseconds to go through it.
static uint32_t search(uint32_t from, uint16_t from_port, uint32_t to, uint16_t to_port) {
  static uint64_t not_before;
  uint64_t begun = monotonic_now();
  if (begun < not_before) return 0;
  uint64_t inode = socket_inode(from, from_port, to, to_port);
  uint32_t holder = 0;
  if (inode) {
    char wanted[48];
    snprintf(wanted, sizeof wanted, "socket:[%llu]", (unsigned long long)inode);
    holder = only_holder(wanted);
  }
  uint64_t ended = monotonic_now();
  not_before = ended + (ended - begun) * SHARE;
  return holder;
}

uint32_t owner_of(uint32_t from, uint16_t from_port, uint32_t to, uint16_t to_port) {
  uint32_t command = only_command();
  if (!command) command = only_holder("socket:[");
  return command ? command : search(from, from_port, to, to_port);
}
