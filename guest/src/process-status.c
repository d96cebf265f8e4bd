#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answer.h"
#include "attach.h"
#include "children.h"
#include "signals.h"
#include "machine/limits.h"
#include "process.h"
#include "status.h"

static const char *stage_text(uint32_t stage) {
  switch (stage) {
    case STAGE_TERMINAL:
      return "controlling terminal";
    case STAGE_USER:
      return "cannot become the user";
    case STAGE_DIRECTORY:
      return "working directory";
    case STAGE_EXECUTE:
      return "cannot execute";
    default:
      return "cannot start a process for";
  }
}

static void started(struct process *process, const struct status_record *record) {
  process->pid = record->value;
  free(process->directory);
  process->directory = NULL;
  process->state = PROCESS_RUNNING;
  if (process->attachment) channel_ready(&process->attachment->channel);
}

static void failed(struct process *process, const struct status_record *record) {
  char what[300];
  struct slice_list argv = process->argv;
  struct slice name = slice_list_next(&argv);
  const char *stage = stage_text(record->stage);
  bool directory = record->stage == STAGE_DIRECTORY && process->directory;
  if (directory) snprintf(what, sizeof what, "%s %s", stage, process->directory);
  else snprintf(what, sizeof what, "%s %.*s", stage, (int)name.length, (const char *)name.bytes);
  process->state = PROCESS_ENDED;
  process->forgotten = true;
  timer_stop(&process->deadline);
  if (process->attachment) attachment_fail(process->attachment, record->value ? record->value : EIO, what);
  source_close(&process->output);
  source_close(&process->error);
}

uint32_t process_flags(const struct process *process) { return (process->timed_out ? 1u : 0u) | (process->out_of_memory ? 2u : 0u); }

static void exited(struct process *process, const struct status_record *record) {
  int status = record->value;
  process->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  process->signal = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0;
  process->cpu_microseconds = record->cpu_microseconds;
  process->duration_microseconds = record->ended_at > process->started_monotonic ? (record->ended_at - process->started_monotonic) / 1000 : 0;
  process->out_of_memory = limits_oom_kills() > process->oom_kills_before;
  process->state = PROCESS_DRAINING;
  if (!process->insisting) timer_stop(&process->deadline);
  process_drain(process);
}

static void take_record(struct process *process, const struct status_record *record) {
  if (record->kind == STATUS_STARTED && process->state == PROCESS_STARTING) started(process, record);
  if (record->kind == STATUS_FAILED && process->state == PROCESS_STARTING) failed(process, record);
  if (record->kind == STATUS_EXITED && process->state == PROCESS_RUNNING) exited(process, record);
}

static void read_records(struct process *process) {
  while (process->status.fd >= 0) {
    struct status_record records[4];
    ssize_t count = read(process->status.fd, records, sizeof records);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) source_close(&process->status);
    for (ssize_t i = 0; i < count / (ssize_t)sizeof *records; i++) take_record(process, &records[i]);
    if (count > 0 && count < (ssize_t)sizeof records) return;
  }
}

void process_status_ready(struct source *source, uint32_t events) {
  (void)events;
  read_records(OWNER(source, struct process, status));
}

void process_supervisor_ended(struct process *process) {
  read_records(process);
  source_close(&process->status);
  timer_stop(&process->deadline);
  if (process->state == PROCESS_STARTING || process->state == PROCESS_RUNNING) {
    // Somebody killed the supervisor. What it watched over is ours now, and has lost its name: it is ended too.
    children_kill_strays();
    if (process->state == PROCESS_STARTING) failed(process, &(struct status_record){.value = EIO, .stage = STAGE_FORK});
    else exited(process, &(struct status_record){.value = SIGKILL, .ended_at = monotonic_now()});
  }
  signals_tree_gone(process->number);
  process->supervisor_gone = true;
  process_release_if_done(process);
}
