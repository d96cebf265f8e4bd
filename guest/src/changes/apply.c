#define _GNU_SOURCE
#include "changes/apply.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "changes/apply-step.h"

#define STEP_LIMIT 200000u

struct plan {
  struct staging staging;
  struct step *steps;
  size_t count, room;
  size_t at;  // where it failed
};

static struct step *add_step(struct plan *plan) {
  if (plan->count == plan->room) {
    size_t room = plan->room ? plan->room * 2 : 64;
    struct step *steps = plan->count < STEP_LIMIT ? realloc(plan->steps, room * sizeof *steps) : NULL;
    if (!steps) return NULL;
    plan->steps = steps;
    plan->room = room;
  }
  struct step *step = &plan->steps[plan->count];
  *step = (struct step){.stage = -1};
  snprintf(step->fresh, sizeof step->fresh, "new-%zu", plan->count);
  snprintf(step->old, sizeof step->old, "old-%zu", plan->count);
  return step;
}

static int stage_step(struct plan *plan, struct step *step, int input) {
  const struct operation *operation = &step->operation;
  int error = staging_for(&plan->staging, operation->path, &step->stage);
  if (error || operation->kind == OPERATION_REMOVE || operation->type == TYPE_DIRECTORY) return error;
  return staging_make(&plan->staging, step->stage, step->fresh, operation, input);
}

static int read_plan(struct plan *plan, int input) {
  for (;;) {
    struct step *step = add_step(plan);
    if (!step) return plan->count < STEP_LIMIT ? ENOMEM : E2BIG;
    int error = operation_read(input, &step->operation);
    if (error) return error;
    if (step->operation.kind == OPERATION_COMMIT) {
      operation_free(&step->operation);
      return 0;
    }
    plan->at = plan->count++;
    error = stage_step(plan, step, input);
    if (error) return error;
  }
}

static int each(struct plan *plan, int (*work)(const struct staging *, struct step *)) {
  for (plan->at = 0; plan->at < plan->count; plan->at++) {
    int error = work(&plan->staging, &plan->steps[plan->at]);
    if (error) return error;
  }
  return 0;
}

// What is inside a directory comes before it, so that its time stays.
static int finish(struct plan *plan) {
  for (size_t i = plan->count; i > 0; i--) {
    plan->at = i - 1;
    int error = step_finish(&plan->staging, &plan->steps[i - 1]);
    if (error) return error;
  }
  return 0;
}

static void undo(struct plan *plan) {
  for (size_t i = plan->count; i > 0; i--) step_undo(&plan->staging, &plan->steps[i - 1]);
}

static int remove_postponed(struct plan *plan) {
  for (plan->at = 0; plan->at < plan->count; plan->at++) {
    struct step *step = &plan->steps[plan->at];
    int error = step->postponed ? step_remove(&plan->staging, step) : 0;
    if (error) return error;
  }
  return 0;
}

static int carry_out(struct plan *plan) {
  int error = each(plan, step_check);
  if (error) return error;
  error = each(plan, step_apply);
  if (!error) error = finish(plan);
  if (!error) return remove_postponed(plan);
  undo(plan);
  return error;
}

struct outcome {
  int error;
  uint64_t applied;
  char what[200];
};

static struct outcome read_and_apply(int root, int input) {
  struct outcome outcome = {0};
  struct plan plan = {0};
  outcome.error = staging_open(&plan.staging, root);
  if (!outcome.error) outcome.error = read_plan(&plan, input);
  if (!outcome.error) outcome.error = carry_out(&plan);
  staging_close(&plan.staging);
  outcome.applied = plan.count;
  snprintf(outcome.what, sizeof outcome.what, "/%s", plan.at < plan.count ? plan.steps[plan.at].operation.path : "");
  for (size_t i = 0; i < plan.count; i++) operation_free(&plan.steps[i].operation);
  free(plan.steps);
  return outcome;
}

// In a process of its own, which nobody kills: when the host goes away, the stream ends. Before the commit it then cleans up, behind it the
// merge comes to its end.
int apply_changes(int root, int input, uint64_t *applied, char *what, uint32_t what_size) {
  struct outcome outcome = {.error = EIO};
  int pair[2];
  if (pipe(pair) != 0) return errno;
  pid_t pid = fork();
  if (pid == 0) {
    outcome = read_and_apply(root, input);
    ssize_t ignored = write(pair[1], &outcome, sizeof outcome);
    (void)ignored;
    _exit(0);
  }
  if (pid < 0) outcome.error = errno;
  close(pair[1]);
  struct outcome answer;
  if (pid > 0 && read(pair[0], &answer, sizeof answer) == sizeof answer) outcome = answer;
  close(pair[0]);
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
  *applied = outcome.applied;
  snprintf(what, what_size, "%s", outcome.what);
  return outcome.error;
}
