#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "process-tree.h"
#include "process.h"
#include "supervision.h"

// How long a supervisor may take before the guest does it itself (it may have been stopped by what it watches over).
#define KILL_PATIENCE (2 * SECOND)

bool process_signal_tree(struct process *process, int number) {
  if (process->supervisor_gone) return false;
  union sigval value = {.sival_int = number};
  if (sigqueue(process->supervisor, TREE_SIGNAL, value) != 0) process_tree_signal(process->supervisor, number);
  return true;
}

static void insist(struct timer *timer) {
  struct process *process = OWNER(timer, struct process, deadline);
  if (process->supervisor_gone) return;
  kill(process->supervisor, SIGCONT);
  if (process_tree_signal(process->supervisor, SIGKILL) == 0) kill(process->supervisor, SIGKILL);
  timer_set(timer, monotonic_now() + SECOND / 2);
}

void process_kill_tree(struct process *process) {
  process_signal_tree(process, SIGKILL);
  process->insisting = true;
  process->deadline.fire = insist;
  timer_set(&process->deadline, monotonic_now() + KILL_PATIENCE);
}

static void time_is_up(struct timer *timer) {
  struct process *process = OWNER(timer, struct process, deadline);
  process->timed_out = true;
  process_kill_tree(process);
}

void process_set_timeout(struct process *process, uint64_t milliseconds) {
  if (milliseconds == 0 || milliseconds > UINT64_MAX / MILLISECOND / 2) return;
  process->deadline.fire = time_is_up;
  timer_set(&process->deadline, process->started_monotonic + milliseconds * MILLISECOND);
}
