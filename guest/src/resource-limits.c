#define _GNU_SOURCE
#include "resource-limits.h"

#include "configure.h"

#define GUEST_OPEN_FILES 32768

static struct rlimit found_open_files, found_pids;
static bool know_open_files, know_pids, raised_open_files;

void resource_limits_open(void) {
  know_pids = getrlimit(RLIMIT_NPROC, &found_pids) == 0;
  know_open_files = getrlimit(RLIMIT_NOFILE, &found_open_files) == 0;
  struct rlimit limit = found_open_files;
  limit.rlim_cur = limit.rlim_max < GUEST_OPEN_FILES ? limit.rlim_max : GUEST_OPEN_FILES;
  // Where it may not be raised the guest has to do with what it has.
  raised_open_files = know_open_files && limit.rlim_cur > found_open_files.rlim_cur && setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

static struct rlimit at_most(rlim_t found, uint32_t value) {
  rlim_t limit = found == RLIM_INFINITY || found > value ? value : found;
  return (struct rlimit){limit, limit};
}

void resource_limits_prepare(struct launch *launch) {
  launch->set_pids = know_pids && configuration.pids;
  launch->pids = at_most(found_pids.rlim_max, configuration.pids);
  // The guest has raised its own for its many channels; a command gets what was asked for, or what the runtime gave.
  launch->set_open_files = know_open_files && (configuration.open_files || raised_open_files);
  launch->open_files = configuration.open_files ? at_most(found_open_files.rlim_max, configuration.open_files) : found_open_files;
}
