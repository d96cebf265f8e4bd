#define _GNU_SOURCE
#include "configure.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer.h"
#include "identity.h"
#include "machine/limits.h"
#include "paths.h"
#include "requests.h"
#include "users.h"

#define MINIMUM_RETAINED 4096u
#define MAXIMUM_RETAINED (64u << 20)
#define MAKE_WORKDIR 1u
#define RENEWED 2u

struct configuration configuration = {.workdir = "/", .retained_output_bytes = 1u << 20};

static int set_environment(struct slice_list environment) {
  uint8_t *copy = malloc(environment.length ? environment.length : 1);
  if (!copy) return ENOMEM;
  if (environment.length) memcpy(copy, environment.bytes, environment.length);
  free(configuration.environment_bytes);
  configuration.environment_bytes = copy;
  configuration.environment = (struct slice_list){copy, environment.length, environment.count};
  return 0;
}

static int set_workdir(struct slice workdir, bool make) {
  if (workdir.length == 0) return 0;
  char path[PATH_BYTES];
  int error = path_copy(workdir, path);
  if (error) return error;
  // A machine that was started ahead of time has made it already; under emulation every step counts that it need not repeat.
  if (make && configuration.workdir_is_made && strcmp(path, configuration.workdir) == 0) return 0;
  if (make) {
    struct user user;
    error = users_find((struct slice){NULL, 0}, &user);
    if (!error) error = path_make_directories(path, 0755, &user);
    if (error) return error;
    struct stat status;
    // Also a directory that was there already is the user's from now on.
    bool owned = stat(path, &status) == 0 && status.st_uid == user.uid && status.st_gid == user.gid;
    if (!owned && chown(path, user.uid, user.gid) != 0 && errno != EPERM && errno != EINVAL && errno != EROFS) return errno;
  }
  snprintf(configuration.workdir, sizeof configuration.workdir, "%s", path);
  configuration.workdir_is_made = make;
  return 0;
}

static int set_user(struct slice wanted) {
  // One that it has already was looked for when it got it.
  if (wanted.length == 0 || users_is_default(wanted)) return 0;
  struct user user;
  int error = users_find(wanted, &user);
  if (error) return error;
  if (!users_is_own(&user) && !users_can_switch()) return EPERM;
  users_set_default(wanted);
  configuration.workdir_is_made = false;
  return 0;
}

void serve_configure(uint32_t channel, const struct message_configure *message) {
  bool renewed = message->flags & RENEWED;
  // A copied machine begins to differ here, before anything else is done with it.
  uint64_t confirmed = identity_set(message, renewed);
  int error = set_user(message->user);
  if (error) return answer_failed(channel, error, "user %.*s", (int)message->user.length, (const char *)message->user.bytes);
  error = set_workdir(message->workdir, message->flags & MAKE_WORKDIR);
  if (error) return answer_failed(channel, error, "workdir %.*s", (int)message->workdir.length, (const char *)message->workdir.bytes);
  error = set_environment(message->environment);
  if (error) return answer_failed(channel, error, "environment");
  // A machine that was started ahead of time has another limit than the sandbox that it becomes.
  error = limits_change_pids(message->pids);
  if (error) return answer_failed(channel, error, "limit of processes");
  configuration.open_files = message->open_files;
  configuration.pids = message->pids;
  if (message->retained_output_bytes) {
    uint32_t bytes = message->retained_output_bytes;
    if (bytes < MINIMUM_RETAINED) bytes = MINIMUM_RETAINED;
    configuration.retained_output_bytes = bytes > MAXIMUM_RETAINED ? MAXIMUM_RETAINED : bytes;
  }
  answer_done(channel, confirmed);
}

void configuration_release(void) { free(configuration.environment_bytes); }
