#define _GNU_SOURCE
#include "hostname.h"
#include "descendants.h"
#include "text-file.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// From the kernel's nsfs.h, which musl's headers do not have.
#define OWNING_USER_NAMESPACE _IO(0xb7, 0x1)
#define HOSTNAME_BYTES 64

// The namespace of names of the first process below us that has another than we. -1 when none has: the host keeps its name.
static int open_namespace(void) {
  struct process_list all = {0};
  struct stat own, other;
  int found = -1;
  if (stat("/proc/self/ns/uts", &own) != 0) return -1;
  descendants_list(&all);
  for (size_t i = 0; i < all.count && found < 0; i++) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/uts", all.pids[i]);
    found = open(path, O_RDONLY | O_CLOEXEC);
    if (found >= 0 && fstat(found, &other) == 0 && other.st_ino != own.st_ino) break;
    if (found >= 0) close(found);
    found = -1;
  }
  free(all.pids);
  return found;
}

static bool enter(int names) {
  if (setns(names, CLONE_NEWUTS) == 0) return true;
  // A keeper that is not root itself is root of what it has started.
  int users = ioctl(names, OWNING_USER_NAMESPACE);
  return users >= 0 && setns(users, CLONE_NEWUSER) == 0 && setns(names, CLONE_NEWUTS) == 0;
}

void hostname_renew(void) {
  char text[HOSTNAME_BYTES + 1];
  long length = text_file_get("hostname", text, sizeof text);
  int names = length > 0 ? open_namespace() : -1;
  if (names < 0) return;
  // In a process of its own: a namespace is not left again.
  pid_t pid = fork();
  if (pid == 0) _exit(enter(names) && sethostname(text, (size_t)length) == 0 ? 0 : 1);
  close(names);
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
}
