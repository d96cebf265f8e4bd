#define _GNU_SOURCE
#include "child.h"
#include "control.h"
#include "files.h"
#include "membarrier.h"
#include "namespace.h"
#include "signals.h"
#include "steps.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

// The death of the keeper is the death of its runtime. A change of user takes the setting away: it is made anew after that.
static bool die_with(pid_t keeper, struct failure *failure) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return fail_with(failure, errno, "parent-death signal");
  if (getppid() != keeper) _exit(1);
  return true;
}

static bool place_standard(struct child_place *place, struct failure *failure) {
  // Above all numbers that `files` may name.
  int reports = file_lift(place->reports);
  if (reports < 0) return fail_with(failure, errno, "descriptors");
  place->reports = reports;
  if (dup2(place->link, 0) < 0 || dup2(place->link, 1) < 0 || dup2(place->errors, 2) < 0) return fail_with(failure, errno, "descriptors");
  return true;
}

static bool follow(const struct launch *launch, struct child_place *place, struct user_namespace *made, struct failure *failure) {
  bool rootless = launch->flags & LAUNCH_ROOTLESS;
  bool inside = launch->flags & LAUNCH_INSIDE_NAMESPACE;
  int opened[FILE_NUMBER_LAST + 1];
  int user_namespace = -1;
  if (chdir(launch->directory) != 0) return fail_with(failure, errno, "directory %s", launch->directory);
  bool mapped = launch->id_count > 0 && !rootless;
  if (mapped && !user_namespace_map(made, launch->id_base, launch->id_count, failure)) return false;
  if (mapped) user_namespace = file_lift(made->descriptor);
  if (!place_standard(place, failure)) return false;
  return files_open(launch->files, BEFORE_STEPS, opened, failure) && (!rootless || rootless_enter(failure)) &&
         steps_run(launch->steps, user_namespace, rootless, failure) && files_open(launch->files, AFTER_STEPS, opened, failure) &&
         (!inside || user_namespace_enter(user_namespace, failure)) && files_place(launch->files, opened, failure) &&
         die_with(place->keeper, failure) && (!(launch->flags & LAUNCH_NO_MEMBARRIER) || membarrier_refuse(failure));
}

static bool read_all(int descriptor, void *bytes, size_t length) {
  for (size_t taken = 0; taken < length;) {
    ssize_t count = read(descriptor, (char *)bytes + taken, length - taken);
    if (count <= 0) return false;
    taken += (size_t)count;
  }
  return true;
}

// Waits for the payload. A keeper that ends before it has one to give ends its child.
static struct slice take_orders(int orders) {
  uint32_t length;
  if (!read_all(orders, &length, sizeof length) || length > FRAME_BYTES) _exit(1);
  uint8_t *bytes = malloc(length + 1);
  if (!bytes || !read_all(orders, bytes, length)) _exit(1);
  close(orders);
  return (struct slice){bytes, length};
}

static _Noreturn void give_up(const struct child_place *place, const struct failure *failure) {
  ssize_t written = write(place->reports, failure, sizeof *failure);
  _exit(written == (ssize_t)sizeof *failure ? 1 : 2);
}

_Noreturn void child_run(char *const *cgroups, struct child_place place) {
  struct failure failure = {0};
  struct launch launch;
  setsid();
  umask(022);
  keeper_signals_reset();
  struct user_namespace made = {-1, -1, -1};
  // Only root can map more than itself.
  bool root = geteuid() == 0;
  if (!die_with(place.keeper, &failure) || !cgroups_join(cgroups, &failure) || (root && !user_namespace_make(&made, &failure)))
    give_up(&place, &failure);
  if (write(place.reports, &failure, sizeof failure) != (ssize_t)sizeof failure) _exit(2);
  struct slice orders = take_orders(place.orders);
  if (launch_decode(orders, &launch, &failure) && follow(&launch, &place, &made, &failure)) {
    execve(launch.argv[0], launch.argv, launch.environment);
    fail_with(&failure, errno, "exec %s", launch.argv[0]);
  }
  give_up(&place, &failure);
}
