#define _GNU_SOURCE
#include "runtime.h"
#include "child.h"
#include "signals.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

// Little enough that a small answer behind a flood is not long on the way.
#define LINK_BUFFER_BYTES (128 * 1024)

struct ends {
  int link[2];    // ours, the runtime's
  int errors[2];  // to read, to write
  int orders[2];  // to read, to write
  int reports[2]; // to read, to write; closed by execve
};

static void close_all(const int *descriptors, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (descriptors[i] >= 0) close(descriptors[i]);
}

static bool open_ends(struct ends *ends, struct failure *failure) {
  *ends = (struct ends){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->link) == 0 && pipe2(ends->errors, O_CLOEXEC) == 0 &&
      pipe2(ends->orders, O_CLOEXEC) == 0 && pipe2(ends->reports, O_CLOEXEC) == 0) {
    int bytes = LINK_BUFFER_BYTES;
    for (int i = 0; i < 2; i++) setsockopt(ends->link[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    fcntl(ends->link[0], F_SETFL, O_NONBLOCK);
    fcntl(ends->errors[0], F_SETFL, O_NONBLOCK);
    return true;
  }
  int number = errno;
  close_all((const int *)ends, sizeof *ends / sizeof(int));
  return fail_with(failure, number, "descriptors of the runtime");
}

bool report_await(int reports, int signals, bool end_is_good, struct failure *failure) {
  struct pollfd polls[2] = {{reports, POLLIN, 0}, {signals, POLLIN, 0}};
  while (polls[0].revents == 0) {
    poll(polls, 2, -1);
    if (polls[1].revents != 0 && keeper_signals_take(signals)) return fail_with(failure, ECANCELED, "launch: told to end");
  }
  struct failure said;
  ssize_t count = read(reports, &said, sizeof said);
  if (count == 0 && end_is_good) return true;
  if (count != (ssize_t)sizeof said) return fail_with(failure, EIO, "launch: no word from the child");
  if (said.number == 0) return true;
  *failure = said;
  return false;
}

bool runtime_prepare(char *const *cgroups, int engine, int signals, struct runtime *runtime, struct failure *failure) {
  struct ends ends;
  if (!open_ends(&ends, failure)) return false;
  pid_t keeper = getpid();
  pid_t pid = fork();
  if (pid == 0) {
    // The keeper's ends too: it must see their end when the runtime is gone.
    close_all((int[]){engine, signals, ends.link[0], ends.errors[0], ends.orders[1], ends.reports[0]}, 6);
    child_run(cgroups, (struct child_place){ends.link[1], ends.errors[1], ends.orders[0], ends.reports[1], keeper});
  }
  int number = errno;
  close_all((int[]){ends.link[1], ends.errors[1], ends.orders[0], ends.reports[1]}, 4);
  *runtime = (struct runtime){pid, ends.link[0], ends.errors[0], ends.orders[1], ends.reports[0]};
  if (pid < 0) return fail_with(failure, number, "fork");
  return report_await(runtime->reports, signals, false, failure);
}

// The length, then the bytes. A child that is gone says so by its end.
static bool give_orders(int orders, struct slice launch) {
  uint32_t length = launch.length;
  if (write(orders, &length, sizeof length) != (ssize_t)sizeof length) return false;
  for (size_t sent = 0; sent < launch.length;) {
    ssize_t count = write(orders, launch.bytes + sent, launch.length - sent);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) sent += (size_t)count;
  }
  return true;
}

bool runtime_order(struct runtime *runtime, struct slice launch, struct failure *failure) {
  bool given = give_orders(runtime->orders, launch);
  close(runtime->orders);
  runtime->orders = -1;
  return given || fail_with(failure, EIO, "launch: the child is gone");
}

bool runtime_await(struct runtime *runtime, int signals, struct failure *failure) {
  bool started = report_await(runtime->reports, signals, true, failure);
  close(runtime->reports);
  runtime->reports = -1;
  if (!started) kill(runtime->pid, SIGKILL);
  return started;
}
