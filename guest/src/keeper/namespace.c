#define _GNU_SOURCE
#include "namespace.h"
#include "text-file.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_of(int pid, const char *name, int flags, struct failure *failure) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  int descriptor = open(path, flags | O_CLOEXEC);
  if (descriptor < 0) fail_with(failure, errno, "user namespace: %s", name);
  return descriptor;
}

bool user_namespace_make(struct user_namespace *made, struct failure *failure) {
  // Like fork; a namespace needs a process only until somebody holds its descriptors.
  int holder = (int)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (holder < 0) return fail_with(failure, errno, "user namespace");
  if (holder == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  made->descriptor = open_of(holder, "ns/user", O_RDONLY, failure);
  made->user_map = open_of(holder, "uid_map", O_WRONLY, failure);
  made->group_map = open_of(holder, "gid_map", O_WRONLY, failure);
  kill(holder, SIGKILL);
  while (waitpid(holder, NULL, 0) < 0 && errno == EINTR) continue;
  return made->descriptor >= 0 && made->user_map >= 0 && made->group_map >= 0;
}

static bool put_map(int map, const char *name, uint32_t base, uint32_t count, struct failure *failure) {
  char text[64];
  int length = snprintf(text, sizeof text, "0 %u %u", base, count);
  bool written = write(map, text, (size_t)length) == length;
  if (!written) fail_with(failure, errno, "user namespace: %s", name);
  close(map);
  return written;
}

bool user_namespace_map(const struct user_namespace *made, uint32_t base, uint32_t count, struct failure *failure) {
  return put_map(made->user_map, "uid_map", base, count, failure) && put_map(made->group_map, "gid_map", base, count, failure);
}

bool user_namespace_enter(int user_namespace, struct failure *failure) {
  if (setgroups(0, NULL) != 0) return fail_with(failure, errno, "user namespace: setgroups");
  if (setns(user_namespace, CLONE_NEWUSER) != 0) return fail_with(failure, errno, "user namespace: setns");
  if (setresgid(0, 0, 0) != 0) return fail_with(failure, errno, "user namespace: setresgid");
  if (setresuid(0, 0, 0) != 0) return fail_with(failure, errno, "user namespace: setresuid");
  return true;
}

bool rootless_enter(struct failure *failure) {
  uint32_t user = geteuid(), group = getegid();
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return fail_with(failure, errno, "user namespace");
  // Without this an unprivileged process may not map its group.
  if (!text_file_put("/proc/self/setgroups", "deny", 4)) return fail_with(failure, errno, "user namespace: setgroups");
  int self = getpid();
  if (!put_map(open_of(self, "uid_map", O_WRONLY, failure), "uid_map", user, 1, failure) || !put_map(open_of(self, "gid_map", O_WRONLY, failure), "gid_map", group, 1, failure)) return false;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return fail_with(failure, errno, "mount namespace: propagation");
  return true;
}
