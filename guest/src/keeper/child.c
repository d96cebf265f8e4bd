#define _GNU_SOURCE
#include "child.h"
#include "namespace.h"
#include "numbers.h"
#include "signals.h"
#include "steps.h"
#include "text-file.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define VICTIM_SCORE 200

// The death of the keeper is the death of its runtime. A change of user takes the setting away: it is made anew after that.
static bool die_with(pid_t keeper, struct failure *failure) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return fail_with(failure, errno, "parent-death signal");
  if (getppid() != keeper) _exit(1);
  return true;
}

// When a sandbox has used up its memory, something of its own is to die, and not its keeper, which is in the same cgroup.
static bool prefer_as_victim(struct failure *failure) {
  char score[16];
  if (text_file_get("/proc/self/oom_score_adj", score, sizeof score) < 0) return fail_with(failure, errno, "oom_score_adj");
  if (atoi(score) >= VICTIM_SCORE) return true;
  int length = snprintf(score, sizeof score, "%d", VICTIM_SCORE);
  return text_file_put("/proc/self/oom_score_adj", score, (size_t)length) || fail_with(failure, errno, "oom_score_adj");
}

static int lift(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, FILE_NUMBER_LAST + 1); }

static bool place_standard(struct child_place *place, struct failure *failure) {
  // Above all numbers that `files` may name.
  int report = lift(place->report);
  if (report < 0) return fail_with(failure, errno, "descriptors");
  place->report = report;
  if (place->user_namespace >= 0) place->user_namespace = lift(place->user_namespace);
  if (dup2(place->link, 0) < 0 || dup2(place->link, 1) < 0 || dup2(place->errors, 2) < 0) return fail_with(failure, errno, "descriptors");
  return true;
}

// Opened before anything is mounted, as what the engine sees under these paths; none is the runtime's own before place_files.
static bool open_files(char *const *files, int *opened, struct failure *failure) {
  for (size_t i = 0; files[2 * i]; i++) {
    int fd = open(files[2 * i + 1], O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail_with(failure, errno, "files: open %s", files[2 * i + 1]);
    opened[i] = lift(fd);
    if (opened[i] < 0) return fail_with(failure, errno, "files: %s", files[2 * i + 1]);
    close(fd);
  }
  return true;
}

static bool place_files(char *const *files, const int *opened, struct failure *failure) {
  for (size_t i = 0; files[2 * i]; i++) {
    uint64_t number;
    parse_number(files[2 * i], 10, FILE_NUMBER_LAST, &number);
    if (dup2(opened[i], (int)number) < 0) return fail_with(failure, errno, "files: descriptor %s", files[2 * i]);
  }
  return true;
}

static bool prepare(const struct launch *launch, struct child_place *place, struct failure *failure) {
  bool rootless = launch->flags & LAUNCH_ROOTLESS;
  bool inside = launch->flags & LAUNCH_INSIDE_NAMESPACE;
  int opened[FILE_NUMBER_LAST + 1];
  if (string_list_length(launch->files) / 2 > FILE_NUMBER_LAST) return fail_with(failure, E2BIG, "files: too many");
  setsid();
  umask(022);
  keeper_signals_reset();
  return place_standard(place, failure) && die_with(place->keeper, failure) && prefer_as_victim(failure) &&
         open_files(launch->files, opened, failure) &&
         (!rootless || rootless_enter(failure)) && steps_run(launch->steps, place->user_namespace, rootless, failure) &&
         (!inside || user_namespace_enter(place->user_namespace, failure)) && place_files(launch->files, opened, failure) &&
         die_with(place->keeper, failure);
}

_Noreturn void child_run(const struct launch *launch, struct child_place place) {
  struct failure failure = {0};
  if (prepare(launch, &place, &failure)) {
    execve(launch->argv[0], launch->argv, launch->environment);
    fail_with(&failure, errno, "exec %s", launch->argv[0]);
  }
  ssize_t written = write(place.report, &failure, sizeof failure);
  _exit(written == (ssize_t)sizeof failure ? 1 : 2);
}
