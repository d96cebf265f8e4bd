#define _GNU_SOURCE
#include "standby.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "descriptors.h"
#include "link.h"
#include "loop.h"

#define MESSAGE_LIMIT 32768u  // fits a fresh socket, so that sending never waits
#define PATIENCE (5 * SECOND)
#define SOCKET_DESCRIPTOR 3
#define PASSED 4  // input, output, error, status

// Followed by argv, the environment and the directory, each string terminated.
struct message {
  struct user user;
  uint32_t argument_count, variable_count, open_files, pids;
  bool switch_user, terminal;
};

static struct source channel = {.fd = -1};
static struct timer patience;
static pid_t pid;

pid_t standby_pid(void) { return pid; }

void standby_stop(void) {
  timer_stop(&patience);
  source_close(&channel);
  pid = 0;
}

void standby_ended(pid_t ended) {
  if (pid != 0 && ended == pid) standby_stop();
}

static bool append(struct buffer *buffer, const char *text) {
  size_t length = strlen(text) + 1;
  if (buffer->length + length > buffer->capacity) return false;
  buffer_append(buffer, text, length);
  return true;
}

static bool write_message(struct buffer *buffer, const struct launch *launch) {
  struct message message = {
      .user = *launch->user,
      .open_files = launch->open_files,
      .pids = launch->pids,
      .switch_user = launch->switch_user,
      .terminal = launch->terminal,
  };
  buffer->length = sizeof message;
  for (char **at = launch->argv; *at; at++, message.argument_count++) {
    if (!append(buffer, *at)) return false;
  }
  for (char **at = launch->environment; *at; at++, message.variable_count++) {
    if (!append(buffer, *at)) return false;
  }
  memcpy(buffer->bytes, &message, sizeof message);
  return append(buffer, launch->directory);
}

static bool send_message(const struct buffer *buffer, const struct launch *launch) {
  int passed[PASSED] = {launch->input, launch->output, launch->error, launch->status};
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof passed)] = {0};
  struct iovec vector = {buffer->bytes, buffer->length};
  struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof passed);
  memcpy(CMSG_DATA(rights), passed, sizeof passed);
  return sendmsg(channel.fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)buffer->length;
}

pid_t standby_take(const struct launch *launch) {
  if (channel.fd < 0) return -1;
  struct buffer buffer = {.bytes = malloc(MESSAGE_LIMIT), .capacity = MESSAGE_LIMIT};
  if (!buffer.bytes) return -1;
  bool sent = write_message(&buffer, launch) && send_message(&buffer, launch);
  free(buffer.bytes);
  if (!sent) return -1;
  pid_t taken = pid;
  standby_stop();
  return taken;
}

// --- in the standby process

static ssize_t receive(uint8_t *bytes, int passed[PASSED]) {
  _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int[PASSED]))];
  struct iovec vector = {bytes, MESSAGE_LIMIT};
  struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  ssize_t count;
  do count = recvmsg(SOCKET_DESCRIPTOR, &header, MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  struct cmsghdr *rights = count > 0 ? CMSG_FIRSTHDR(&header) : NULL;
  if (!rights || rights->cmsg_len != CMSG_LEN(sizeof(int[PASSED]))) return -1;
  memcpy(passed, CMSG_DATA(rights), sizeof(int[PASSED]));
  return count;
}

static char **point_at(char **text, uint32_t count) {
  char **list = calloc((size_t)count + 1, sizeof *list);
  if (!list) _exit(1);
  for (uint32_t i = 0; i < count; i++, *text += strlen(*text) + 1) list[i] = *text;
  return list;
}

static _Noreturn void wait_for_work(int socket) {
  dup2(socket, SOCKET_DESCRIPTOR);
  // The link's own descriptors too: a supervisor that held them would hide the end of the guest from its host.
  int null = open("/dev/null", O_RDWR);
  for (int i = 0; i < 3; i++) dup2(null, i);
  close_from(SOCKET_DESCRIPTOR + 1);
  link_release_memory();
  static uint8_t bytes[MESSAGE_LIMIT];
  int passed[PASSED];
  if (receive(bytes, passed) < (ssize_t)sizeof(struct message)) _exit(0);
  struct message message;
  memcpy(&message, bytes, sizeof message);
  char *text = (char *)bytes + sizeof message;
  struct launch launch = {
      .user = &message.user,
      .switch_user = message.switch_user,
      .terminal = message.terminal,
      .input = passed[0],
      .output = passed[1],
      .error = passed[2],
      .status = passed[3],
      .open_files = message.open_files,
      .pids = message.pids,
  };
  launch.argv = point_at(&text, message.argument_count);
  launch.environment = point_at(&text, message.variable_count);
  launch.directory = text;
  for (char **at = launch.environment; *at; at++) {
    if (strncmp(*at, "PATH=", 5) == 0) launch.path = *at + 5;
  }
  supervisor_run(&launch);
}

// --- in the guest

static void give_up(struct timer *timer) {
  (void)timer;
  standby_stop();
}

void standby_prepare(void) {
  patience.fire = give_up;
  timer_set(&patience, monotonic_now() + PATIENCE);
  if (channel.fd >= 0) return;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return;
  pid_t forked = fork();
  if (forked == 0) wait_for_work(pair[1]);
  close(pair[1]);
  if (forked < 0) {
    close(pair[0]);
    return;
  }
  channel = (struct source){.fd = pair[0]};
  pid = forked;
}
