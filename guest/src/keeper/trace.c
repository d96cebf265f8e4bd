#define _GNU_SOURCE
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../trace/report.h"
#include "../trace/seccheck.h"
#include "connect-path.h"

#define CONTEXT "\"context_fields\":[\"time\",\"group_id\"]}"
// What runsc's own `trace create --force` sends once it has the socket. Nothing is tried twice: what does not fit is dropped and counted
// there, and no process waits.
#define CALL \
  "{\"method\":\"containerManager.CreateTraceSession\",\"arg\":{\"Force\":true,\"Config\":{\"name\":\"Default\",\"points\":[" \
  "{\"name\":\"sentry/clone\"," CONTEXT ",{\"name\":\"sentry/execve\"," CONTEXT ",{\"name\":\"sentry/exit_notify_parent\"," CONTEXT "]," \
  "\"sinks\":[{\"name\":\"remote\",\"config\":{\"endpoint\":\"\",\"retries\":0}}]}}}"
#define ANSWER_BYTES 4096
#define PATIENCE_MILLISECONDS 10000
// A program's arguments and environment lie in one packet, of which the first part is enough.
#define PACKET_BYTES 65536
#define SOCKET_BYTES (4 * 1024 * 1024)
#define PACKETS_PER_TURN 64
#define NOBODY 65534

static int failed(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  return 1;
}

static bool send_call(int kernel, int sink) {
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr aligned;
  } control = {0};
  struct iovec text = {CALL, sizeof CALL - 1};
  struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof sink);
  memcpy(CMSG_DATA(header), &sink, sizeof sink);
  return sendmsg(kernel, &message, 0) == (ssize_t)sizeof CALL - 1;
}

// {"success":true,...} or {"success":false,"err":"...",...}
static bool take_answer(int kernel) {
  char answer[ANSWER_BYTES];
  struct pollfd one = {kernel, POLLIN, 0};
  ssize_t length = poll(&one, 1, PATIENCE_MILLISECONDS) > 0 ? read(kernel, answer, sizeof answer - 1) : -1;
  answer[length > 0 ? length : 0] = 0;
  if (strstr(answer, "\"success\":true")) return true;
  fprintf(stderr, "%s\n", length > 0 ? answer : "no answer");
  return false;
}

// SAFETY: what is read from here on comes from the kernel of a sandbox, and nothing of the host is needed to read it.
static bool give_up_privileges(void) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  return geteuid() != 0 || (setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
}

static void executed(const struct seccheck *message) {
  struct traced *traced = tracker_find(message->pid);
  // One from before: it may be the main process of a command.
  if (!traced) traced = tracker_forked(message->pid, message->pid);
  if (traced && report_admits()) report_executed(traced, &message->arguments, message->at);
}

static void ended(const struct seccheck *message) {
  const struct traced *traced = tracker_find(message->pid);
  if (traced) report_ended(traced, message->status, message->at);
  tracker_forget(message->pid);
}

static void take(const struct seccheck *message) {
  static uint32_t dropped;
  if (message->dropped > dropped) {
    report_missed(message->dropped - dropped);
    dropped = message->dropped;
  }
  if (message->kind == SECCHECK_CLONE && message->created == message->created_thread) tracker_forked(message->created, message->pid);
  if (message->kind == SECCHECK_EXECVE) executed(message);
  if (message->kind == SECCHECK_EXIT) ended(message);
}

// False when the kernel is gone.
static bool take_packets(int source) {
  static uint8_t packet[PACKET_BYTES];
  static struct seccheck message;
  for (int i = 0; i < PACKETS_PER_TURN; i++) {
    ssize_t length = recv(source, packet, sizeof packet, MSG_DONTWAIT);
    if (length < 0) return errno == EAGAIN || errno == EINTR;
    if (length == 0) return false;
    if (seccheck_read(packet, (size_t)length, &message)) take(&message);
  }
  return true;
}

static int relay(int source) {
  report_begin();
  for (;;) {
    if (!report_flush(STDOUT_FILENO)) return 0;
    struct pollfd both[2] = {{source, POLLIN, 0}, {STDOUT_FILENO, report_waits() ? POLLOUT : 0, 0}};
    if (poll(both, 2, -1) < 0 && errno != EINTR) return failed("poll");
    if (both[1].revents & (POLLERR | POLLHUP)) return 0;
    if (both[0].revents && !take_packets(source)) return report_flush(STDOUT_FILENO) ? 0 : 1;
  }
}

int trace_main(int argc, char **argv) {
  int ends[2], bytes = SOCKET_BYTES;
  if (argc != 2) return 2;
  signal(SIGPIPE, SIG_IGN);
  int kernel = connect_to_path(argv[1]);
  if (kernel < 0) return failed("control socket");
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) return failed("socket");
  if (setsockopt(ends[1], SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0) setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  if (!send_call(kernel, ends[1])) return failed("call");
  close(ends[1]);
  if (!take_answer(kernel)) return 1;
  close(kernel);
  if (!give_up_privileges()) return failed("privileges");
  fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
  return relay(ends[0]);
}
