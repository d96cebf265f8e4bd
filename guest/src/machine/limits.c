#define _GNU_SOURCE
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIERARCHY "/sys/fs/cgroup"
#define GROUP HIERARCHY "/sandbox"
#define HEADROOM 32  // the guest, and the supervisors of its commands

#define NOT_LOOKED_FOR (-2)

static int memory_events = NOT_LOOKED_FOR;
static int pids_max = -1;
static unsigned long pids_in_force;

static bool write_text(const char *path, const char *text) {
  int descriptor = open(path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  ssize_t written = write(descriptor, text, strlen(text));
  int error = errno;
  close(descriptor);
  errno = error;
  return written >= 0;
}

// RLIMIT_NPROC does not bind root, and kernel.threads-max would count the kernel's own threads; the pids controller does what is meant.
// Everything is a descendant of this process and so inherits its group. The hierarchy is needed no longer afterwards, but for two open files.
bool limits_set_pids(unsigned long count) {
  char text[32];
  snprintf(text, sizeof text, "%lu", count + HEADROOM);
  if (mount("cgroup2", HIERARCHY, "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) return false;
  bool set = write_text(HIERARCHY "/cgroup.subtree_control", "+pids +memory") && (mkdir(GROUP, 0755) == 0 || errno == EEXIST) &&
             write_text(GROUP "/pids.max", text) && write_text(GROUP "/cgroup.procs", "0");
  int error = errno;
  pids_in_force = count;
  pids_max = open(GROUP "/pids.max", O_WRONLY | O_CLOEXEC);
  memory_events = open(GROUP "/memory.events", O_RDONLY | O_CLOEXEC);
  umount2(HIERARCHY, MNT_DETACH);
  errno = error;
  return set;
}

int limits_change_pids(unsigned long count) {
  char text[32];
  if (pids_max < 0 || count == 0 || count == pids_in_force) return 0;
  int length = snprintf(text, sizeof text, "%lu", count + HEADROOM);
  if (pwrite(pids_max, text, (size_t)length, 0) != length) return errno;
  pids_in_force = count;
  return 0;
}

// cgroup v2 and v1 of a container, as engines show them. Looked for before anything else runs here.
static int open_container_events(void) {
  int descriptor = open(HIERARCHY "/memory.events", O_RDONLY | O_CLOEXEC);
  return descriptor >= 0 ? descriptor : open(HIERARCHY "/memory/memory.oom_control", O_RDONLY | O_CLOEXEC);
}

uint64_t limits_oom_kills(void) {
  char text[512];
  if (memory_events == NOT_LOOKED_FOR) memory_events = open_container_events();
  ssize_t length = memory_events < 0 ? -1 : pread(memory_events, text, sizeof text - 1, 0);
  if (length <= 0) return 0;
  text[length] = 0;
  const char *line = strstr(text, "\noom_kill ");
  return line ? strtoull(line + sizeof "\noom_kill " - 1, NULL, 10) : 0;
}
