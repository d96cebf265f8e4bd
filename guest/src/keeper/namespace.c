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

static bool put_map(int pid, const char *name, uint32_t base, uint32_t count, struct failure *failure) {
  char path[64], text[64];
  snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
  int length = snprintf(text, sizeof text, "0 %u %u", base, count);
  return text_file_put(path, text, (size_t)length) || fail_with(failure, errno, "user namespace: %s", name);
}

int user_namespace_make(uint32_t base, uint32_t count, struct failure *failure) {
  // Like fork; a namespace needs a process only until somebody holds its descriptor.
  int holder = (int)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (holder < 0) {
    fail_with(failure, errno, "user namespace");
    return -1;
  }
  if (holder == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/user", holder);
  int descriptor = -1;
  if (put_map(holder, "uid_map", base, count, failure) && put_map(holder, "gid_map", base, count, failure)) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) fail_with(failure, errno, "user namespace: open");
  }
  kill(holder, SIGKILL);
  while (waitpid(holder, NULL, 0) < 0 && errno == EINTR) continue;
  return descriptor;
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
  if (!put_map(self, "uid_map", user, 1, failure) || !put_map(self, "gid_map", group, 1, failure)) return false;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return fail_with(failure, errno, "mount namespace: propagation");
  return true;
}
