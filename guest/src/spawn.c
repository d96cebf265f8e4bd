#define _GNU_SOURCE
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "answer.h"
#include "attach.h"
#include "command.h"
#include "configure.h"
#include "paths.h"
#include "process.h"
#include "requests.h"
#include "supervisor.h"
#include "terminal.h"

#define FLAG_TERMINAL 1u
#define FLAG_MERGE 2u
#define FLAG_INPUT 4u
#define ARGV_KEPT 1024u

static int null_descriptor = -1;

bool spawn_open(void) {
  null_descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
  return null_descriptor >= 0;
}

void spawn_close(void) {
  if (null_descriptor >= 0) close(null_descriptor);
}

// The ends that belong to the target; the guest's own ends are sources of the process.
struct ends {
  int input, output, error, status;
};

static void close_ends(const struct ends *ends) {
  if (ends->input >= 0 && ends->input != null_descriptor && ends->input != ends->output) close(ends->input);
  if (ends->error >= 0 && ends->error != ends->output) close(ends->error);
  if (ends->output >= 0) close(ends->output);
  if (ends->status >= 0) close(ends->status);
}

// The guest's end never blocks; the target's is an ordinary pipe.
static int open_pipe(int *own, int *other, bool own_reads) {
  int pair[2];
  if (pipe2(pair, O_CLOEXEC) != 0) return errno;
  *own = pair[own_reads ? 0 : 1];
  *other = pair[own_reads ? 1 : 0];
  return fcntl(*own, F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
}

static int open_terminal(struct process *process, struct ends *ends, const struct message_spawn *message, uid_t owner) {
  int error = terminal_open(&process->output.fd, &ends->output, message->rows, message->cols, owner);
  if (error) return error;
  ends->input = ends->error = ends->output;
  process->terminal = true;
  process->input.fd = fcntl(process->output.fd, F_DUPFD_CLOEXEC, 0);
  return process->input.fd >= 0 ? 0 : errno;
}

static int open_ends(struct process *process, struct ends *ends, const struct message_spawn *message, uid_t owner) {
  int error = open_pipe(&process->status.fd, &ends->status, true);
  if (error) return error;
  if (message->flags & FLAG_TERMINAL) return open_terminal(process, ends, message, owner);
  error = open_pipe(&process->output.fd, &ends->output, true);
  if (error) return error;
  ends->error = ends->output;
  if (!(message->flags & FLAG_MERGE)) error = open_pipe(&process->error.fd, &ends->error, true);
  if (error) return error;
  ends->input = null_descriptor;
  return message->flags & FLAG_INPUT ? open_pipe(&process->input.fd, &ends->input, false) : 0;
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

static int start(struct process *process, const struct message_spawn *message, struct command *command, const struct user *user, const char *directory) {
  struct ends ends = {-1, -1, -1, -1};
  int error = open_ends(process, &ends, message, user->uid);
  struct launch launch = {
      .argv = command->argv,
      .environment = command->environment,
      .path = command->path,
      .directory = directory,
      .user = user,
      .switch_user = !users_is_own(user) || (user->group_count && users_can_switch()),
      .terminal = process->terminal,
      .input = ends.input,
      .output = ends.output,
      .error = ends.error,
      .status = ends.status,
      .open_files = configuration.open_files,
      .pids = configuration.pids,
  };
  process->started_wall = wall_now();
  process->started_monotonic = monotonic_now();
  if (!error) {
    process->supervisor = fork();
    if (process->supervisor == 0) supervisor_run(&launch);
    if (process->supervisor < 0) error = errno;
  }
  close_ends(&ends);
  return error;
}

static void watch(struct process *process) {
  source_watch(&process->status, EPOLLIN);
  source_watch(&process->output, EPOLLIN);
  source_watch(&process->error, EPOLLIN);
}

static void spawn(uint32_t channel, const struct message_spawn *message, struct command *command, const struct user *user, const char *directory) {
  struct process *process = process_create(configuration.retained_output_bytes);
  if (!process) return answer_failed(channel, EAGAIN, "too many processes");
  keep_argv(process, message->argv);
  process->directory = strdup(directory);
  int error = start(process, message, command, user, directory);
  if (error) {
    process->supervisor_gone = true;
    process->state = PROCESS_ENDED;
    source_close(&process->output);
    source_close(&process->error);
    answer_failed(channel, error, "cannot start %s", command->argv[0]);
    process_forget(process);
    return;
  }
  watch(process);
  process_set_timeout(process, message->timeout_milliseconds);
  attachment_open(channel, process, 0, process->input.fd >= 0);
}

static int find_user(struct slice wanted, struct user *user) {
  int error = users_find(wanted, user);
  if (error == ENOENT) return EINVAL;
  if (error) return error;
  return users_is_own(user) || users_can_switch() ? 0 : EPERM;
}

void serve_spawn(uint32_t channel, const struct message_spawn *message) {
  struct user user;
  char directory[PATH_BYTES];
  int error = find_user(message->user, &user);
  if (error) return answer_failed(channel, error, error == EINVAL ? "unknown user %.*s" : "user %.*s", (int)message->user.length, (const char *)message->user.bytes);
  error = path_copy(message->cwd.length ? message->cwd : slice_of(configuration.workdir), directory);
  if (error) return answer_failed(channel, error, "working directory");
  struct command command;
  error = command_build(&command, message, &user);
  if (error) answer_failed(channel, error, "arguments or environment");
  else spawn(channel, message, &command, &user, directory);
  command_release(&command);
}
