#define _GNU_SOURCE
#include "runtime.h"
#include "child.h"
#include "namespace.h"
#include "signals.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// Little enough that a small answer behind a flood is not long on the way.
#define LINK_BUFFER_BYTES (128 * 1024)

struct ends {
  int link[2];   // ours, the runtime's
  int errors[2]; // to read, to write
  int report[2]; // to read, to write; closed by execve
};

static void close_all(const int *descriptors, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (descriptors[i] >= 0) close(descriptors[i]);
}

static bool open_ends(struct ends *ends, struct failure *failure) {
  *ends = (struct ends){{-1, -1}, {-1, -1}, {-1, -1}};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->link) == 0 && pipe2(ends->errors, O_CLOEXEC) == 0 &&
      pipe2(ends->report, O_CLOEXEC) == 0) {
    int bytes = LINK_BUFFER_BYTES;
    for (int i = 0; i < 2; i++) setsockopt(ends->link[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    fcntl(ends->link[0], F_SETFL, O_NONBLOCK);
    fcntl(ends->errors[0], F_SETFL, O_NONBLOCK);
    return true;
  }
  int number = errno;
  close_all(ends->link, 2);
  close_all(ends->errors, 2);
  close_all(ends->report, 2);
  return fail_with(failure, number, "descriptors of the runtime");
}

// Waits until the child executes the runtime or says why it cannot.
static bool await_exec(int report, int signals, struct failure *failure) {
  struct pollfd polls[2] = {{report, POLLIN, 0}, {signals, POLLIN, 0}};
  while (polls[0].revents == 0) {
    poll(polls, 2, -1);
    if (polls[1].revents != 0 && keeper_signals_take(signals)) return fail_with(failure, ECANCELED, "launch: told to end");
  }
  struct failure said;
  ssize_t count = read(report, &said, sizeof said);
  if (count == 0) return true;
  if (count != (ssize_t)sizeof said) return fail_with(failure, EIO, "launch: no word from the child");
  *failure = said;
  return false;
}

bool runtime_start(const struct launch *launch, int signals, struct runtime *runtime, struct failure *failure) {
  struct ends ends;
  int user_namespace = -1;
  if (launch->id_count > 0 && !(launch->flags & LAUNCH_ROOTLESS)) {
    user_namespace = user_namespace_make(launch->id_base, launch->id_count, failure);
    if (user_namespace < 0) return false;
  }
  if (!open_ends(&ends, failure)) return false;
  pid_t keeper = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    struct child_place place = {ends.link[1], ends.errors[1], ends.report[1], user_namespace, keeper};
    child_run(launch, place);
  }
  int number = errno;
  close_all((int[]){ends.link[1], ends.errors[1], ends.report[1], user_namespace}, 4);
  bool started = pid > 0 ? await_exec(ends.report[0], signals, failure) : fail_with(failure, number, "fork");
  close(ends.report[0]);
  if (started) {
    *runtime = (struct runtime){pid, ends.link[0], ends.errors[0]};
    return true;
  }
  close_all((int[]){ends.link[0], ends.errors[0]}, 2);
  if (pid > 0) {
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
  }
  return false;
}
