#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>

#include "answer.h"
#include "attach.h"
#include "children.h"
#include "signals.h"
#include "machine/limits.h"
#include "network/scope.h"
#include "process.h"
#include "spawn.h"
#include "supervision.h"

static const char *stage_text(uint32_t stage) {
  switch (stage) {
    case STAGE_TERMINAL:
      return "controlling terminal";
    case STAGE_CONFINE:
      return "cannot confine to a network of its own";
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

static void started(struct process *process, const struct supervision *report) {
  process->pid = report->pid;
  process->state = PROCESS_RUNNING;
  attachments_ready(process);
}

static void failed(struct process *process, int error, uint32_t stage) {
  char what[300];
  struct slice_list argv = process->argv;
  struct slice name = slice_list_next(&argv);
  if (stage == STAGE_DIRECTORY) snprintf(what, sizeof what, "%s %s", stage_text(stage), process->supervision->launch.directory);
  else snprintf(what, sizeof what, "%s %.*s", stage_text(stage), (int)name.length, (const char *)name.bytes);
  process->state = PROCESS_ENDED;
  process->forgotten = true;
  timer_stop(&process->deadline);
  attachments_fail(process, error ? error : EIO, what);
  source_close(&process->output);
  source_close(&process->error);
}

uint32_t process_flags(const struct process *process) { return (process->timed_out ? 1u : 0u) | (process->out_of_memory ? 2u : 0u); }

static void exited(struct process *process, int status, uint64_t ended_at) {
  process->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  process->signal = WIFSIGNALED(status) ? (uint32_t)WTERMSIG(status) : 0;
  process->duration_microseconds = ended_at > process->started_monotonic ? (ended_at - process->started_monotonic) / 1000 : 0;
  process->out_of_memory = limits_oom_kills() > process->oom_kills_before;
  process->state = PROCESS_DRAINING;
  if (!process->insisting) timer_stop(&process->deadline);
  process_drain(process);
}

void process_take_report(struct process *process) {
  struct supervision *report = process->supervision;
  enum progress progress = supervision_progress(report);
  process->seen = progress;
  if (progress == PROGRESS_NONE) return;
  spawn_close_ends(&report->launch);
  if (progress == PROGRESS_FAILED) {
    if (process->state == PROCESS_STARTING) failed(process, report->failure, report->stage);
    return;
  }
  bool ended = progress >= PROGRESS_EXITED;
  if (process->state == PROCESS_STARTING) started(process, report);
  if (!ended || process->state != PROCESS_RUNNING) return;
  process->cpu_microseconds = report->cpu_microseconds;
  exited(process, report->status, report->ended_at);
}

static struct process *next_with_news(void) {
  for (struct process *process = process_first(); process; process = process->next) {
    if (process->supervision && supervision_progress(process->supervision) != process->seen) return process;
  }
  return NULL;
}

void process_take_reports(void) {
  // From the start each time: one that ended may push others out.
  for (struct process *process; (process = next_with_news());) process_take_report(process);
}

void process_supervisor_ended(struct process *process) {
  process_take_report(process);
  timer_stop(&process->deadline);
  if (process->state == PROCESS_STARTING || process->state == PROCESS_RUNNING) {
    // Somebody killed the supervisor. What it watched over is ours now, and has lost its name: it is ended too.
    children_kill_strays();
    if (process->state == PROCESS_STARTING) failed(process, EIO, STAGE_FORK);
    else exited(process, SIGKILL, monotonic_now());
  }
  process_release_supervision(process);
  scope_release(process->number);
  signals_tree_gone(process->number);
  process->supervisor_gone = true;
  process_release_if_done(process);
}
