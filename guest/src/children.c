#define _GNU_SOURCE
#include "children.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"
#include "process-tree.h"
#include "process.h"
#include "raw-calls.h"
#include "worker.h"

static struct source signals = {.fd = -1};

static void reap(void) {
  for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;) {
    struct process *process = process_find_supervisor(pid);
    if (process) process_supervisor_ended(process);
    else worker_ended(pid);
  }
}

static void signals_ready(struct source *source, uint32_t events) {
  (void)events;
  struct signalfd_siginfo info[16];
  ssize_t count = read(source->fd, info, sizeof info);
  for (ssize_t i = 0; i < count / (ssize_t)sizeof *info; i++) {
    if (info[i].ssi_signo == SIGTERM || info[i].ssi_signo == SIGINT) loop_stop();
  }
  reap();
}

// What the runtime ignored, a command must not inherit. The C library keeps those from 32 on to itself; the kernel does not.
static void reset_dispositions(void) {
  for (int number = 1; number < 32; number++) {
    if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
  }
  const uint64_t defaults[4] = {0};  // the kernel's struct sigaction
  for (int number = 32; number <= 64; number++) raw_call(SYS_rt_sigaction, number, defaults, NULL, sizeof(uint64_t));
}

bool children_open(void) {
  reset_dispositions();
  // Everything is blocked: SIGPIPE too, so that a broken pipe is an error code and nothing has to be undone before exec.
  sigset_t all, handled;
  sigfillset(&all);
  // Faults must end the program, not spin.
  for (size_t i = 0; i < 4; i++) sigdelset(&all, (int[]){SIGSEGV, SIGBUS, SIGILL, SIGFPE}[i]);
  sigprocmask(SIG_SETMASK, &all, NULL);
  sigemptyset(&handled);
  sigaddset(&handled, SIGCHLD);
  sigaddset(&handled, SIGTERM);
  sigaddset(&handled, SIGINT);
  signals = (struct source){.fd = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK), .ready = signals_ready};
  return signals.fd >= 0 && source_watch(&signals, EPOLLIN);
}

void children_close(void) { source_close(&signals); }

void children_reset_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static int is_known(pid_t pid) { return process_find_supervisor(pid) != NULL || worker_is(pid); }

void children_kill_strays(void) { process_tree_signal_except(getpid(), SIGKILL, is_known); }

void children_kill_all(void) {
  // SAFETY: -1 means everything in this process namespace; only its own init may say that.
  if (getpid() == 1) kill(-1, SIGKILL);
  for (int round = 0; round < 200; round++) {
    int left = process_tree_signal(getpid(), SIGKILL);
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
    if (left == 0) return;
    nanosleep(&(struct timespec){0, 5000000}, NULL);
  }
}
