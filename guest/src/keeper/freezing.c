#define _GNU_SOURCE
#include "freezing.h"
#include "descendants.h"
#include "relay.h"
#include <signal.h>
#include <stdlib.h>
#include <time.h>

// What still runs after this long starts processes faster than they can be stopped.
#define FREEZE_MILLISECONDS 3000

static bool contains(const struct process_list *list, int pid) {
  for (size_t i = 0; i < list->count; i++)
    if (list->pids[i] == pid) return true;
  return false;
}

// A signal is sent at once, but obeyed when its process next runs. A parent that is woken by it in wait() looks at its children
// once more before it stops, and must not see one of them stopped already.
static void await_stop(int pid) {
  for (int tries = 0; tries < 100; tries++) {
    char state = process_state(pid);
    if (state != 'R' && state != 'S') return;
    nanosleep(&(struct timespec){0, 50000}, NULL);
  }
}

// A tracer waits for its tracee to stop at a certain place, and takes a stop of ours for that one: gVisor's kernel, which starts its
// processes so, was left with one that does not run, and ended. The tracer is stopped already, and its tracee gets there by itself;
// one that does not is stopped like the others.
static void await_tracee(int pid) {
  for (int tries = 0; tries < 100 && process_runs_for_tracer(pid); tries++) nanosleep(&(struct timespec){0, 50000}, NULL);
}

// Parents are stopped before their children, so that a shell sees no job of its own stop.
// The number of those that may still run; -1 when memory ran out.
static int stop_all(struct freezing *freezing, bool first) {
  struct process_list all = {0};
  if (!descendants_list(&all)) return -1;
  int running = 0;
  for (size_t i = 0; i < all.count && running >= 0; i++) {
    await_tracee(all.pids[i]);
    char state = process_state(all.pids[i]);
    // A traced one that has stopped waits for its tracer, which is below us too.
    if (state == 't' || state == 'T') continue;
    if (!contains(&freezing->stopped, all.pids[i]) && !process_list_add(&freezing->stopped, all.pids[i])) {
      running = -1;
      break;
    }
    kill(all.pids[i], SIGSTOP);
    await_stop(all.pids[i]);
    // The leader of a process may be gone while its threads run: it was told, and that cannot be seen. One that waits in the
    // kernel stops before it returns from there, and cannot fork until then.
    if (state != 'Z' && state != 'X' && (first || state != 'D')) running++;
  }
  free(all.pids);
  return running;
}

bool freezing_begin(struct freezing *freezing) {
  if (freezing->frozen) return true;
  freezing->stopped.count = 0;
  int64_t deadline = relay_now() + FREEZE_MILLISECONDS;
  bool first = true;
  int running;
  while ((running = stop_all(freezing, first)) > 0 && relay_now() < deadline) {
    first = false;
    nanosleep(&(struct timespec){0, 300000}, NULL);
  }
  freezing->frozen = true;
  if (running == 0) return true;
  freezing_end(freezing);
  return false;
}

void freezing_end(struct freezing *freezing) {
  struct process_list all = {0};
  if (!freezing->frozen) return;
  freezing->frozen = false;
  bool listed = descendants_list(&all);
  // Children first: a shell that wakes must find that none of its jobs is stopped.
  for (size_t i = all.count; listed && i-- > 0;)
    if (contains(&freezing->stopped, all.pids[i])) kill(all.pids[i], SIGCONT);
  free(all.pids);
}
