// From the supervisor to the running program. The child shares the supervisor's memory until it executes, so that
// nothing here may allocate or return early, and the reason of a failure needs no pipe.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptors.h"
#include "status.h"
#include "supervisor.h"

#define FALLBACK_PATH "/usr/local/bin:/usr/bin:/bin"

static void raise_oom_score(void) {
  int descriptor = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  // Where it may not be raised the kernel's own choice stands.
  ssize_t ignored = write(descriptor, "500", 3);
  (void)ignored;
  close(descriptor);
}

// The guest has raised its own for its many channels; a command gets what the runtime gave.
static void restore_open_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || !original_open_files) return;
  limit.rlim_cur = original_open_files;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static void limit_resource(int resource, uint32_t value) {
  struct rlimit limit;
  if (value == 0 || getrlimit(resource, &limit) != 0) return;
  if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > value) limit.rlim_max = value;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(resource, &limit);
}

// Raw calls: the C library's would try to bring other threads along.
static int become(const struct user *user) {
  if (syscall(SYS_setgroups, (size_t)user->group_count, user->groups) != 0) return errno;
  if (syscall(SYS_setresgid, user->gid, user->gid, user->gid) != 0) return errno == EINVAL ? EPERM : errno;
  if (syscall(SYS_setresuid, user->uid, user->uid, user->uid) != 0) return errno == EINVAL ? EPERM : errno;
  return 0;
}

static void execute_file(const char *file, const struct launch *launch, char **shell_argv) {
  execve(file, launch->argv, launch->environment);
  if (errno != ENOEXEC) return;
  // A script without a first line that names its interpreter.
  shell_argv[1] = (char *)file;
  execve("/bin/sh", shell_argv, launch->environment);
}

static int search_and_execute(const struct launch *launch, char **shell_argv) {
  const char *name = launch->argv[0];
  if (strchr(name, '/') || !*name) {
    execute_file(name, launch, shell_argv);
    return errno;
  }
  size_t length = strlen(name);
  int result = ENOENT;
  char file[PATH_MAX];
  const char *path = launch->path ? launch->path : FALLBACK_PATH;
  for (const char *end; ; path = end + 1) {
    end = strchrnul(path, ':');
    size_t directory = (size_t)(end - path);
    if (directory + length + 2 <= sizeof file) {
      memcpy(file, path, directory);
      if (directory) file[directory++] = '/';
      memcpy(file + directory, name, length + 1);
      execute_file(file, launch, shell_argv);
      if (errno == EACCES) result = EACCES;
      else if (errno != ENOENT && errno != ENOTDIR) return errno;
    }
    if (!*end) return result;
  }
}

static int prepare_and_execute(const struct launch *launch, volatile uint32_t *stage, char **shell_argv) {
  setsid();
  if (launch->terminal) {
    *stage = STAGE_TERMINAL;
    if (ioctl(0, TIOCSCTTY, 0) != 0) return errno;
  }
  raise_oom_score();
  if (launch->open_files) limit_resource(RLIMIT_NOFILE, launch->open_files);
  else restore_open_files();
  limit_resource(RLIMIT_NPROC, launch->pids);
  *stage = STAGE_USER;
  int error = launch->switch_user ? become(launch->user) : 0;
  if (error) return error;
  *stage = STAGE_DIRECTORY;
  if (chdir(launch->directory) != 0) return errno;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  *stage = STAGE_EXECUTE;
  return search_and_execute(launch, shell_argv);
}

int execute(const struct launch *launch, struct launch_error *failure) {
  size_t count = 0;
  while (launch->argv[count]) count++;
  char *shell_argv[count + 2];
  shell_argv[0] = (char *)"sh";
  shell_argv[1] = launch->argv[0];
  for (size_t i = 1; i <= count; i++) shell_argv[i + 1] = launch->argv[i];
  volatile uint32_t stage = STAGE_FORK;
  volatile int error = 0;
  // SAFETY: the child only makes system calls on memory that was prepared, and leaves by exec or _exit.
  pid_t pid = vfork();
  if (pid == 0) {
    error = prepare_and_execute(launch, &stage, shell_argv);
    _exit(127);
  }
  failure->error = pid < 0 ? errno : error;
  failure->stage = stage;
  if (pid > 0 && error) waitpid(pid, NULL, 0);
  return failure->error ? -1 : pid;
}
