#define _GNU_SOURCE
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "answer.h"
#include "attach.h"
#include "command.h"
#include "configure.h"
#include "network/scope.h"
#include "oom-score.h"
#include "paths.h"
#include "process.h"
#include "requests.h"
#include "resource-limits.h"
#include "supervision.h"
#include "terminal.h"

#define FLAG_TERMINAL 1u
#define FLAG_MERGE 2u
#define FLAG_INPUT 4u
#define FLAG_OWN_NETWORK 8u
#define ARGV_KEPT 1024u

static int null_descriptor = -1;
static bool own_kernel;

bool spawn_open(bool on_own_kernel) {
  own_kernel = on_own_kernel;
  null_descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
  return null_descriptor >= 0;
}

void spawn_close(void) {
  if (null_descriptor >= 0) close(null_descriptor);
}

// The guest's end never blocks; the target's is an ordinary pipe.
static int open_pipe(int *own, int *other, bool own_reads) {
  int pair[2];
  if (pipe2(pair, O_CLOEXEC) != 0) return errno;
  *own = pair[own_reads ? 0 : 1];
  *other = pair[own_reads ? 1 : 0];
  return fcntl(*own, F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

static int open_terminal(struct process *process, struct launch *launch, const struct message_spawn *message) {
  int error = terminal_open(&process->output.fd, &launch->output, message->rows, message->cols, launch->user.uid);
  if (error) return error;
  launch->input = launch->error = launch->output;
  launch->terminal = process->terminal = true;
  process->input.fd = fcntl(process->output.fd, F_DUPFD_CLOEXEC, 0);
  return process->input.fd >= 0 ? 0 : errno;
}

static int open_ends(struct process *process, struct launch *launch, const struct message_spawn *message) {
  if (message->flags & FLAG_TERMINAL) return open_terminal(process, launch, message);
  int error = open_pipe(&process->output.fd, &launch->output, true);
  if (error) return error;
  launch->error = launch->output;
  if (!(message->flags & FLAG_MERGE)) error = open_pipe(&process->error.fd, &launch->error, true);
  if (error) return error;
  launch->input = null_descriptor;
  return message->flags & FLAG_INPUT ? open_pipe(&process->input.fd, &launch->input, false) : 0;
}

void spawn_close_ends(struct launch *launch) {
  if (launch->input >= 0 && launch->input != null_descriptor && launch->input != launch->output) close(launch->input);
  if (launch->error >= 0 && launch->error != launch->output) close(launch->error);
  if (launch->output >= 0) close(launch->output);
  launch->input = launch->output = launch->error = -1;
}

static void keep_argv(struct process *process, struct slice_list argv) {
  struct slice_list rest = argv, kept = {NULL, 0, 0};
  for (uint32_t i = 0; i < argv.count; i++) {
    struct slice item = slice_list_next(&rest);
    uint32_t end = argv.length - rest.length;
    if (end > ARGV_KEPT) break;
    (void)item;
    kept.length = end;
    kept.count++;
  }
  uint8_t *copy = malloc(kept.length ? kept.length : 1);
  if (!copy) return;
  if (kept.length) memcpy(copy, argv.bytes, kept.length);
  process->argv = (struct slice_list){copy, kept.length, kept.count};
}

static int start(struct process *process, const struct message_spawn *message) {
  struct supervision *supervision = process->supervision;
  int error = open_ends(process, &supervision->launch, message);
  process->started_wall = wall_now();
  process->started_monotonic = monotonic_now();
  if (error) return error;
  const struct scope *scope = scope_find(supervision->launch.confined ? process->number : 0);
  error = scope_enter(scope);
  if (error) return error;
  process->supervisor = supervision_start(supervision);
  scope_leave(scope);
  return process->supervisor < 0 ? -process->supervisor : 0;
}

static void spawn(uint32_t channel, const struct message_spawn *message, struct supervision *supervision) {
  struct process *process = process_create(configuration.retained_output_bytes);
  if (!process) {
    supervision_release(supervision);
    return answer_failed(channel, EAGAIN, "too many processes");
  }
  process->supervision = supervision;
  keep_argv(process, message->argv);
  int error = supervision->launch.confined ? scope_create(process->number, message->policy) : 0;
  if (!error) error = start(process, message);
  if (error) {
    scope_release(process->number);
    process->supervisor_gone = true;
    process->state = PROCESS_ENDED;
    source_close(&process->output);
    source_close(&process->error);
    answer_failed(channel, error, "cannot start %s", supervision->launch.argv[0]);
    process_forget(process);
    return;
  }
  source_watch(&process->output, EPOLLIN);
  source_watch(&process->error, EPOLLIN);
  process_set_timeout(process, message->timeout_milliseconds);
  attachment_open(channel, process, 0, process->input.fd >= 0);
}

static int find_user(struct slice wanted, struct user *user) {
  int error = users_find(wanted, user);
  if (error == ENOENT) return EINVAL;
  if (error) return error;
  return users_is_own(user) || users_can_switch() ? 0 : EPERM;
}

// Everything that the supervisor and the new process will look at, in memory that stays as long as they do.
static int prepare(struct supervision *supervision, const struct message_spawn *message, const struct user *user, const char *directory) {
  struct launch *launch = &supervision->launch;
  struct command command;
  char *memory = supervision_memory(supervision);
  int error = command_build(&command, memory, message, user);
  if (error) return error;
  launch->argv = command.argv;
  launch->environment = command.environment;
  launch->path = command.path;
  launch->directory = strcpy(memory + command_size(message), directory);
  launch->user = *user;
  launch->switch_user = !users_is_own(user) || (user->group_count && users_can_switch());
  launch->raise_oom_score = oom_score_is_raised_by_commands();
  // Elsewhere the policy of scheduling is the host's.
  launch->supervisor_gives_way = launch->own_kernel = own_kernel;
  launch->confined = message->flags & FLAG_OWN_NETWORK;
  resource_limits_prepare(launch);
  return 0;
}

void serve_spawn(uint32_t channel, const struct message_spawn *message) {
  struct user user;
  char directory[PATH_BYTES];
  int error = find_user(message->user, &user);
  if (error) return answer_failed(channel, error, error == EINVAL ? "unknown user %.*s" : "user %.*s", (int)message->user.length, (const char *)message->user.bytes);
  error = path_copy(message->cwd.length ? message->cwd : slice_of(configuration.workdir), directory);
  if (error) return answer_failed(channel, error, "working directory");
  struct supervision *supervision = supervision_create(command_size(message) + strlen(directory) + 1);
  error = supervision ? prepare(supervision, message, &user, directory) : ENOMEM;
  if (!error) return spawn(channel, message, supervision);
  if (supervision) supervision_release(supervision);
  answer_failed(channel, error, "arguments or environment");
}
