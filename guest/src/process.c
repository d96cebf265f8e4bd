#include "process.h"

#include "attach.h"
#include "input-writer.h"
#include "machine/limits.h"
#include "spawn.h"
#include "supervision.h"

static struct process *first, *last;
static uint32_t next_number = 1;

struct process *process_first(void) { return first; }

struct process *process_create(uint32_t log_capacity) {
  uint32_t running = 0;
  for (struct process *at = first; at; at = at->next) running += at->state != PROCESS_ENDED;
  struct process *process = running < PROCESS_LIMIT ? calloc(1, sizeof *process) : NULL;
  if (!process) return NULL;
  process->number = next_number++;
  process->oom_kills_before = limits_oom_kills();
  process->output = (struct source){.fd = -1, .ready = process_output_ready};
  process->error = (struct source){.fd = -1, .ready = process_error_ready};
  process->input = (struct source){.fd = -1, .ready = input_writers_ready};
  log_open(&process->log, log_capacity);
  process->previous = last;
  if (last) last->next = process;
  else first = process;
  last = process;
  return process;
}

struct process *process_find(uint32_t number) {
  for (struct process *at = last; at; at = at->previous) {
    if (at->number == number) return at->forgotten ? NULL : at;
  }
  return NULL;
}

struct process *process_find_supervisor(pid_t supervisor) {
  for (struct process *at = first; at; at = at->next) {
    if (at->supervisor == supervisor && !at->supervisor_gone) return at;
  }
  return NULL;
}

void process_release_supervision(struct process *process) {
  if (!process->supervision) return;
  spawn_close_ends(&process->supervision->launch);
  supervision_release(process->supervision);
  process->supervision = NULL;
}

static void process_free(struct process *process) {
  attachments_end(process);
  input_writers_end(process);
  timer_stop(&process->deadline);
  source_close(&process->output);
  source_close(&process->error);
  source_close(&process->input);
  log_close(&process->log);
  free((void *)process->argv.bytes);
  process_release_supervision(process);
  if (process->previous) process->previous->next = process->next;
  else first = process->next;
  if (process->next) process->next->previous = process->previous;
  else last = process->previous;
  free(process);
}

// A forgotten process stays while descendants hold its pipes (closing them would kill a server that still logs) or its supervisor lives.
void process_release_if_done(struct process *process) {
  if (process->forgotten && process->supervisor_gone && process->output.fd < 0 && process->error.fd < 0) process_free(process);
}

void process_forget(struct process *process) {
  process->forgotten = true;
  attachments_end(process);
  log_drop_all(&process->log);
  process_release_if_done(process);
}

static bool is_retained(const struct process *process) { return process->state == PROCESS_ENDED && !process->forgotten && !process->attachments; }

static struct process *oldest_retained(bool with_memory) {
  struct process *oldest = NULL;
  for (struct process *at = first; at; at = at->next) {
    if (!is_retained(at) || (with_memory && !log_memory(&at->log))) continue;
    if (!oldest || at->ended_sequence < oldest->ended_sequence) oldest = at;
  }
  return oldest;
}

void process_retain_bounded(void) {
  uint32_t ended = 0;
  uint64_t memory = 0;
  for (struct process *at = first; at; at = at->next) {
    if (!is_retained(at)) continue;
    ended++;
    memory += log_memory(&at->log);
  }
  while (memory > RETAINED_MEMORY) {
    struct process *oldest = oldest_retained(true);
    memory -= log_memory(&oldest->log);
    log_drop_all(&oldest->log);
  }
  for (; ended > RETAINED_PROCESSES; ended--) process_forget(oldest_retained(false));
}

void process_free_all(void) {
  while (first) {
    first->forgotten = true;
    process_free(first);
  }
}
