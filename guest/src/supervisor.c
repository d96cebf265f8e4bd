// The small process between the guest and each command: reaper of its descendants, hand of its signals. It shares the guest's memory and
// descriptors, so that it makes raw system calls only and writes nowhere but to its own struct supervision and its stack.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "loop.h"
#include "process-tree.h"
#include "raw-calls.h"
#include "supervision.h"

#define SIGNAL_BIT(number) (1ull << ((number) - 1))
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE 2u
#endif
// A command that ends soon is reported as started and ended in one go, so that the guest wakes up once. What soon is depends on how long
// the kernel takes to start one.
#define MINIMUM_REPORT_DELAY (2 * MILLISECOND)
#define MAXIMUM_REPORT_DELAY (20 * MILLISECOND)
#define STARTS_PER_REPORT_DELAY 4

static void reach(struct supervision *supervision, enum progress progress) {
  atomic_store_explicit(&supervision->progress, progress, memory_order_release);
}

static void wake_guest(const struct supervision *supervision) {
  uint64_t one = 1;
  raw_call(SYS_write, supervision->news, &one, sizeof one);
}

// The guest answers before the end of this process is through: taking it apart costs some kernels more than a wake-up.
static _Noreturn void leave(struct supervision *supervision, enum progress progress) {
  reach(supervision, progress);
  wake_guest(supervision);
  for (;;) raw_call(SYS_exit_group, 0);
}

static void note_end(struct supervision *supervision, int status, const struct rusage *usage) {
  supervision->status = status;
  supervision->cpu_microseconds =
      (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u + (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
  supervision->ended_at = monotonic_now();
}

// Reaps what has ended. True when the main process was among it; *alive says whether children are left.
static bool reap(struct supervision *supervision, bool *alive) {
  bool main_ended = false;
  for (;;) {
    int status;
    struct rusage usage;
    long pid = raw_call(SYS_wait4, -1, &status, WNOHANG, &usage);
    *alive = pid == 0;
    if (pid == -EINTR) continue;
    if (pid <= 0) return main_ended;
    if (pid != supervision->pid) continue;
    main_ended = true;
    note_end(supervision, status, &usage);
  }
}

// Reading /proc takes descriptors, and the guest may have none to spare. Where the kernel does not know how, the guest's are used.
static void take_own_descriptors(const struct supervision *supervision) {
  if (raw_call(SYS_close_range, 0, supervision->news - 1, CLOSE_RANGE_UNSHARE) != 0) return;
  raw_call(SYS_close_range, supervision->news + 1, INT_MAX, 0);
}

static void signal_everything(const struct supervision *supervision, int number) {
  take_own_descriptors(supervision);
  pid_t self = (pid_t)raw_call(SYS_getpid);
  if (number != SIGKILL) {
    process_tree_signal(self, number);
    return;
  }
  // What forks while it is being killed is found in the next round. Nothing is reaped meanwhile: the dead keep their numbers,
  // so that a fork bomb runs into its limit and stays there.
  long pause = 0;
  while (process_tree_signal(self, SIGKILL) > 0) {
    struct timespec time = {0, pause};
    if (pause) raw_call(SYS_nanosleep, &time, 0);
    else raw_call(SYS_sched_yield);
    if (pause < 32000000) pause = pause * 2 + 250000;
  }
}

static int wait_for_signal(siginfo_t *info, uint64_t delay) {
  uint64_t awaited = SIGNAL_BIT(SIGCHLD) | SIGNAL_BIT(TREE_SIGNAL);
  struct timespec time = {0, (long)delay};
  return (int)raw_call(SYS_rt_sigtimedwait, &awaited, info, delay ? &time : NULL, sizeof awaited);
}

static uint64_t report_delay(uint64_t start_took) {
  uint64_t delay = start_took * STARTS_PER_REPORT_DELAY;
  if (delay < MINIMUM_REPORT_DELAY) return MINIMUM_REPORT_DELAY;
  return delay < MAXIMUM_REPORT_DELAY ? delay : MAXIMUM_REPORT_DELAY;
}

static void attend(struct supervision *supervision, uint64_t delay) {
  for (;;) {
    siginfo_t info;
    int number = wait_for_signal(&info, delay);
    if (number == TREE_SIGNAL && info.si_pid == supervision->guest) signal_everything(supervision, info.si_value.sival_int);
    bool alive, ended = reap(supervision, &alive);
    if (!alive) return;
    if (ended) reach(supervision, PROGRESS_EXITED);
    if (ended || delay) wake_guest(supervision);
    delay = 0;
  }
}

void supervisor_run(void *argument) {
  struct supervision *supervision = argument;
  // Also the signals of faults: a dump of this memory would end the guest too. A fault of its own still ends it.
  uint64_t all = ~0ull;
  raw_call(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all);
  raw_call(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
  // It holds the guest's descriptors, and the other end of the link must see when the guest is gone. An init takes everybody along.
  if (supervision->guest != 1) raw_call(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  // It need not push aside the command that it has just started: on one processor that is two switches for nothing.
  if (supervision->launch.supervisor_gives_way) raw_call(SYS_sched_setscheduler, 0, SCHED_BATCH, &(struct sched_param){0});
  uint64_t before = monotonic_now();
  supervision->pid = execute(supervision);
  if (supervision->pid == 0) leave(supervision, PROGRESS_FAILED);
  reach(supervision, PROGRESS_STARTED);
  attend(supervision, report_delay(monotonic_now() - before));
  leave(supervision, PROGRESS_LEFT);
}
