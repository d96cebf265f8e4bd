// From the supervisor to the running program. The child shares the memory of guest and supervisor until it executes, so that nothing here
// may allocate, return early or set errno, and the reason of a failure needs no pipe.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>

#include "confine.h"
#include "oom-score.h"
#include "raw-calls.h"
#include "supervision.h"

#define FALLBACK_PATH "/usr/local/bin:/usr/bin:/bin"

static void raise_oom_score(void) {
  int descriptor = (int)raw_call(SYS_openat, AT_FDCWD, OOM_SCORE_FILE, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  // Where it may not be raised the kernel's own choice stands.
  raw_call(SYS_write, descriptor, OOM_SCORE, sizeof OOM_SCORE - 1);
  raw_call(SYS_close, descriptor);
}

static int become(const struct user *user) {
  int error = (int)raw_call(SYS_setgroups, user->group_count, user->groups);
  if (error) return -error;
  error = (int)raw_call(SYS_setresgid, user->gid, user->gid, user->gid);
  if (!error) error = (int)raw_call(SYS_setresuid, user->uid, user->uid, user->uid);
  return error == -EINVAL ? EPERM : -error;
}

static int execute_file(const char *file, const struct launch *launch) {
  int error = (int)raw_call(SYS_execve, file, launch->argv, launch->environment);
  if (error != -ENOEXEC) return -error;
  // A script without a first line that names its interpreter.
  char **shell = launch->argv - 1, *name = launch->argv[0];
  shell[0] = (char *)"sh";
  shell[1] = (char *)file;
  error = (int)raw_call(SYS_execve, "/bin/sh", shell, launch->environment);
  shell[1] = name;
  return -error;
}

static int search_and_execute(const struct launch *launch) {
  const char *name = launch->argv[0];
  if (strchr(name, '/') || !*name) return execute_file(name, launch);
  size_t length = strlen(name);
  int result = ENOENT;
  char file[PATH_MAX];
  const char *path = launch->path ? launch->path : FALLBACK_PATH;
  for (const char *end;; path = end + 1) {
    end = strchrnul(path, ':');
    size_t directory = (size_t)(end - path);
    if (directory + length + 2 <= sizeof file) {
      memcpy(file, path, directory);
      if (directory) file[directory++] = '/';
      memcpy(file + directory, name, length + 1);
      int error = execute_file(file, launch);
      if (error == EACCES) result = EACCES;
      else if (error != ENOENT && error != ENOTDIR) return error;
    }
    if (!*end) return result;
  }
}

// The target's own descriptors are 0 to 2, which the guest keeps occupied; all others close themselves when it is executed.
static void arrange_descriptors(const struct launch *launch) {
  raw_call(SYS_dup3, launch->input, 0, 0);
  raw_call(SYS_dup3, launch->output, 1, 0);
  raw_call(SYS_dup3, launch->error, 2, 0);
}

static int prepare_and_execute(const struct launch *launch, uint32_t *stage) {
  if (launch->supervisor_gives_way) raw_call(SYS_sched_setscheduler, 0, SCHED_OTHER, &(struct sched_param){0});
  raw_call(SYS_setsid);
  arrange_descriptors(launch);
  *stage = STAGE_TERMINAL;
  int error = launch->terminal ? (int)raw_call(SYS_ioctl, 0, TIOCSCTTY, 0) : 0;
  if (error) return -error;
  if (launch->raise_oom_score) raise_oom_score();
  if (launch->set_open_files) raw_call(SYS_prlimit64, 0, RLIMIT_NOFILE, &launch->open_files, NULL);
  if (launch->set_pids) raw_call(SYS_prlimit64, 0, RLIMIT_NPROC, &launch->pids, NULL);
  *stage = STAGE_CONFINE;
  error = launch->confined ? confine(launch->own_kernel) : 0;
  if (error) return error;
  *stage = STAGE_USER;
  error = launch->switch_user ? become(&launch->user) : 0;
  if (error) return error;
  *stage = STAGE_DIRECTORY;
  error = (int)raw_call(SYS_chdir, launch->directory);
  if (error) return -error;
  uint64_t none = 0;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
  *stage = STAGE_EXECUTE;
  return search_and_execute(launch);
}

static void child_run(void *argument) {
  struct supervision *supervision = argument;
  supervision->failure = prepare_and_execute(&supervision->launch, &supervision->stage);
  for (;;) raw_call(SYS_exit_group, 127);
}

pid_t execute(struct supervision *supervision) {
  // SAFETY: the child only makes system calls on memory that was prepared, and leaves by exec or exit; until then this one waits.
  long pid = raw_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, supervision_child_stack(supervision), child_run, supervision);
  if (pid < 0) supervision->failure = (int)-pid;
  if (!supervision->failure) return (pid_t)pid;
  if (pid > 0) raw_call(SYS_wait4, pid, NULL, 0, NULL);
  return 0;
}
