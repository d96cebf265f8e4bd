#define _GNU_SOURCE
#include "descendants.h"
#include "text-file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The kernel's list of our children, a number and a blank each. False where the kernel was built without it.
static bool kill_listed(void) {
  char path[64], chunk[1024];
  snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  int pid = 0;
  ssize_t count;
  while ((count = read(fd, chunk, sizeof chunk)) > 0)
    for (ssize_t i = 0; i < count; i++) {
      if (chunk[i] >= '0' && chunk[i] <= '9') {
        pid = pid * 10 + (chunk[i] - '0');
        continue;
      }
      if (pid > 0) kill(pid, SIGKILL);
      pid = 0;
    }
  close(fd);
  return true;
}

static int parent_of(int pid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", pid);
  if (text_file_get(path, text, sizeof text) < 0) return -1;
  // The name of the program may hold anything, also parentheses; what follows the last one may not.
  char *after = strrchr(text, ')');
  return after && strlen(after) > 4 ? atoi(after + 4) : -1;
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
