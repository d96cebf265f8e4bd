#define _GNU_SOURCE
#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "descriptors.h"
#include "link.h"
#include "loop.h"
#include "process-tree.h"
#include "status.h"

#define STATUS_DESCRIPTOR 3
// A command that ends this soon is reported as started and ended in one go, so that the guest wakes up once.
#define START_REPORT_DELAY (2 * MILLISECOND)

static void report(struct status_record *record, int count) {
  size_t length = sizeof *record * (size_t)count;
  while (write(STATUS_DESCRIPTOR, record, length) < 0 && errno == EINTR) continue;
}

static void arrange_descriptors(const struct launch *launch) {
  dup2(launch->input, 0);
  dup2(launch->output, 1);
  dup2(launch->error, 2);
  // The target's own descriptors are 0 to 2; this one closes itself when it is executed.
  if (launch->status != STATUS_DESCRIPTOR) dup3(launch->status, STATUS_DESCRIPTOR, O_CLOEXEC);
  close_from(STATUS_DESCRIPTOR + 1);
}

// Reaps what has ended. True when main was among it; *alive says whether children are left.
static bool reap(pid_t main_process, struct status_record *record, bool *alive) {
  bool main_ended = false;
  for (;;) {
    int status;
    struct rusage usage;
    pid_t pid = wait4(-1, &status, WNOHANG, &usage);
    *alive = pid == 0;
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return main_ended;
    if (pid != main_process) continue;
    main_ended = true;
    uint64_t cpu = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u + (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    *record = (struct status_record){.kind = STATUS_EXITED, .value = status, .cpu_microseconds = cpu, .ended_at = monotonic_now()};
  }
}

static void signal_everything(int number) {
  if (number != SIGKILL) {
    process_tree_signal(getpid(), number);
    return;
  }
  // What forks while it is being killed is found in the next round. Nothing is reaped meanwhile: the dead keep their numbers,
  // so that a fork bomb runs into its limit and stays there.
  long pause = 0;
  while (process_tree_signal(getpid(), SIGKILL) > 0) {
    if (pause) nanosleep(&(struct timespec){0, pause}, NULL);
    else sched_yield();
    if (pause < 32000000) pause = pause * 2 + 250000;
  }
}

static void attend(pid_t main_process) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, TREE_SIGNAL);
  struct status_record records[2] = {{.kind = STATUS_STARTED, .value = main_process}};
  bool announced = false, alive = true;
  while (alive) {
    siginfo_t info;
    int number = sigtimedwait(&awaited, &info, announced ? NULL : &(struct timespec){0, START_REPORT_DELAY});
    if (number == TREE_SIGNAL && info.si_pid == getppid()) signal_everything(info.si_value.sival_int);
    if (reap(main_process, &records[1], &alive)) {
      report(announced ? &records[1] : records, announced ? 1 : 2);
      announced = true;
    } else if (!announced) {
      report(records, 1);
      announced = true;
    }
  }
}

_Noreturn void supervisor_run(const struct launch *launch) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  arrange_descriptors(launch);
  struct launch_error failure;
  pid_t pid = execute(launch, &failure);
  if (pid < 0) {
    report(&(struct status_record){.kind = STATUS_FAILED, .value = failure.error, .stage = failure.stage}, 1);
    _exit(0);
  }
  // Holding the target's ends would keep its pipes open for ever.
  close(0);
  close(1);
  close(2);
  link_release_memory();
  attend(pid);
  _exit(0);
}
