// What the guest, the supervisor of one command and the command's process before it executes share: one piece of memory.
#ifndef HEARTH_SUPERVISION_H
#define HEARTH_SUPERVISION_H
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "users.h"

// Sent by the guest with the signal number as value: signal the whole tree.
#define TREE_SIGNAL (SIGRTMIN + 3)

// What could not be done before the program was executed.
enum launch_stage { STAGE_FORK, STAGE_TERMINAL, STAGE_CONFINE, STAGE_USER, STAGE_DIRECTORY, STAGE_EXECUTE };

// All that the new process needs, prepared by the guest and not changed while the supervisor lives. The descriptors are the guest's.
struct launch {
  char **argv;  // with room for one more before it
  char **environment;
  const char *path;  // PATH of the new environment
  const char *directory;
  struct user user;
  bool switch_user, terminal, raise_oom_score, set_open_files, set_pids, supervisor_gives_way;
  bool confined, own_kernel;
  struct rlimit open_files, pids;
  int input, output, error;
};

// How far the supervisor has come; it only grows. What belongs to a step is written before the step.
enum progress {
  PROGRESS_NONE,
  PROGRESS_STARTED,  // pid
  PROGRESS_FAILED,   // failure, stage; the supervisor leaves
  PROGRESS_EXITED,   // status, cpu_microseconds, ended_at
  PROGRESS_LEFT,     // nothing is below it any more; it is about to end, or was not started
};

struct supervision {
  struct launch launch;
  pid_t guest;
  int news;  // eventfd: something was reported
  _Atomic uint32_t progress;
  pid_t pid;
  int failure;
  uint32_t stage;
  int status;
  uint64_t cpu_microseconds, ended_at;
  // Of the guest alone.
  size_t mapped;
  struct supervision *next_spare;
};

static inline enum progress supervision_progress(struct supervision *supervision) {
  return (enum progress)atomic_load_explicit(&supervision->progress, memory_order_acquire);
}

// supervision.c, the guest's side. `reported` is called when something is new.
bool supervision_open(void (*reported)(void));
void supervision_close(void);
// With that many bytes at supervision_memory, for what launch points to. NULL: no memory.
struct supervision *supervision_create(size_t memory);
void *supervision_memory(struct supervision *supervision);
// Starts the supervisor: its pid, or a negative error.
pid_t supervision_start(struct supervision *supervision);
// When the supervisor was reaped or never started.
void supervision_release(struct supervision *supervision);

// supervisor.c: runs in the supervisor, which shares the guest's memory and descriptors but for a stack.
_Noreturn void supervisor_run(void *supervision);

// execute.c, in the supervisor: the pid of the new process, or 0 with failure and stage set.
pid_t execute(struct supervision *supervision);
// The upper end of the stack for the new process until it executes.
void *supervision_child_stack(struct supervision *supervision);
#endif
