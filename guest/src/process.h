// Processes of the sandbox: started by a request, run under a supervisor, remembered after their end.
#ifndef HEARTH_PROCESS_H
#define HEARTH_PROCESS_H
#include <sys/types.h>

#include "channel.h"
#include "loop.h"
#include "output-log.h"

#define PROCESS_LIMIT 4096u    // running at once
#define RETAINED_PROCESSES 256u
#define RETAINED_MEMORY (32u << 20)  // log bytes of all ended processes together
#define STREAM_OUTPUT 1
#define STREAM_ERROR 2

enum process_state {
  PROCESS_STARTING,  // the supervisor has not reported yet
  PROCESS_RUNNING,
  PROCESS_DRAINING,  // the main process has ended; what it wrote is being taken
  PROCESS_ENDED,
};

struct attachment;
struct input_writer;
struct supervision;

struct process {
  struct process *next, *previous;
  uint32_t number;
  pid_t pid, supervisor;
  struct supervision *supervision;  // until the supervisor is gone
  uint32_t seen;                    // of its progress
  enum process_state state;
  bool terminal, forgotten, timed_out, out_of_memory, supervisor_gone, insisting;
  struct source output, error, input;
  struct output_log log;
  struct attachment *attachments;
  struct input_writer *writers;
  struct timer deadline;
  uint64_t started_monotonic, started_wall;
  uint64_t oom_kills_before;  // how often memory had run out before it was started
  int32_t code;
  uint32_t signal;
  uint64_t output_bytes, cpu_microseconds, duration_microseconds;
  uint32_t drained;
  uint64_t ended_sequence;
  struct slice_list argv;  // own copy, cut
};

struct process *process_create(uint32_t log_capacity);
struct process *process_find(uint32_t number);
struct process *process_find_supervisor(pid_t supervisor);
struct process *process_first(void);
// Frees it when nothing refers to it any more.
void process_release_if_done(struct process *process);
// Drops what is beyond the bounds of retention.
void process_retain_bounded(void);
void process_forget(struct process *process);
void process_free_all(void);
// When the supervisor is gone.
void process_release_supervision(struct process *process);

// The flags of Exited and Process.
uint32_t process_flags(const struct process *process);

// process-status.c: takes what the supervisors have reported.
void process_take_reports(void);
void process_take_report(struct process *process);
// The supervisor was reaped.
void process_supervisor_ended(struct process *process);

// process-output.c
void process_output_ready(struct source *source, uint32_t events);
void process_error_ready(struct source *source, uint32_t events);
// Reads on after the reader made room or went away.
void process_resume_output(struct process *process);
// Takes what the ended process left in its pipes.
void process_drain(struct process *process);

// process-kill.c
// Asks the supervisor to signal everything below it; false when there is none.
bool process_signal_tree(struct process *process, int signal);
// Kills everything below the supervisor, insisting until it is gone.
void process_kill_tree(struct process *process);
void process_set_timeout(struct process *process, uint64_t milliseconds);
#endif
