#define _GNU_SOURCE
#include "trace/connector.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "trace/proc-files.h"

// From the kernel's headers, which musl's do not have.
#define PROTOCOL_CONNECTOR 11
#define GROUP_PROCESSES 1u
#define LEVEL_NETLINK 270
#define NO_OVERRUN_ERRORS 5
#define OPERATION_LISTEN 1u
#define MESSAGE_LAST 3u

#define EVENT_NONE 0u
#define EVENT_FORK 1u
#define EVENT_EXEC 2u
#define EVENT_EXIT 0x80000000u

#define RECEIVE_BYTES (2 * 1024 * 1024)
#define PROCESSORS 1024
#define EVENTS_PER_TURN 64
#define PATIENCE_MILLISECONDS 2000

struct netlink_address {
  uint16_t family, padding;
  uint32_t port, groups;
};

// A header of netlink, one of the connector, and what it tells.
struct __attribute__((packed)) event {
  uint32_t length;
  uint16_t type, flags;
  uint32_t netlink_sequence, port;
  uint32_t index, value, sequence, acknowledged;
  uint16_t payload_length, payload_flags;
  uint32_t what, processor;
  uint64_t at;
  uint32_t data[6];
};

struct __attribute__((packed)) listen {
  uint32_t length;
  uint16_t type, flags;
  uint32_t netlink_sequence, port;
  uint32_t index, value, sequence, acknowledged;
  uint16_t payload_length, payload_flags;
  uint32_t operation;
};

#define EVENT_HEAD offsetof(struct event, data)

// Each processor counts its own events: a gap is what did not fit.
static void count_missed(const struct event *event) {
  static struct {
    uint32_t next;
    bool known;
  } processors[PROCESSORS];
  if (event->processor >= PROCESSORS) return;
  uint32_t gap = event->sequence - processors[event->processor].next;
  if (processors[event->processor].known && gap && gap < UINT32_MAX / 2) report_missed(gap);
  processors[event->processor].next = event->sequence + 1;
  processors[event->processor].known = true;
}

static void executed(uint32_t pid, uint64_t at) {
  struct traced *traced = proc_follow(pid);
  if (!traced || !report_admits()) return;
  struct arguments arguments;
  proc_arguments(pid, &arguments);
  report_executed(traced, &arguments, at);
}

static void ended(uint32_t pid, uint32_t status, uint64_t at) {
  const struct traced *traced = tracker_find(pid);
  if (traced) report_ended(traced, status, at);
  tracker_forget(pid);
}

static void take(const struct event *event) {
  uint32_t data[6];
  memcpy(data, event->data, sizeof data);
  count_missed(event);
  // Threads are no processes.
  if (event->what == EVENT_FORK && data[2] == data[3]) {
    proc_follow(data[1]);
    tracker_forked(data[3], data[1]);
  } else if (event->what == EVENT_EXEC) {
    executed(data[1], event->at);
  } else if (event->what == EVENT_EXIT && data[0] == data[1]) {
    ended(data[1], data[2], event->at);
  }
}

// False when nothing has come. Others than the kernel can write here too.
static bool receive(int connector, struct event *event) {
  struct netlink_address from = {0};
  socklen_t length = sizeof from;
  memset(event, 0, sizeof *event);
  ssize_t count = recvfrom(connector, event, sizeof *event, MSG_DONTWAIT, (struct sockaddr *)&from, &length);
  if (count < 0) return false;
  if (from.port != 0 || (size_t)count < EVENT_HEAD || event->index != GROUP_PROCESSES) event->what = EVENT_NONE;
  return true;
}

static bool await_acknowledgement(int connector) {
  struct event event;
  struct pollfd one = {connector, POLLIN, 0};
  while (poll(&one, 1, PATIENCE_MILLISECONDS) > 0) {
    if (!receive(connector, &event)) return false;
    // A refusal is an error in the first field.
    if (event.what == EVENT_NONE && event.index == GROUP_PROCESSES) {
      errno = (int)event.data[0];
      return event.data[0] == 0;
    }
  }
  errno = ETIMEDOUT;
  return false;
}

static bool subscribe(int connector) {
  struct netlink_address group = {.family = AF_NETLINK, .groups = GROUP_PROCESSES};
  struct listen listen = {
      .length = sizeof listen,
      .type = MESSAGE_LAST,
      .index = GROUP_PROCESSES,
      .value = 1,
      .payload_length = sizeof listen.operation,
      .operation = OPERATION_LISTEN,
  };
  int bytes = RECEIVE_BYTES, one = 1;
  setsockopt(connector, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
  setsockopt(connector, LEVEL_NETLINK, NO_OVERRUN_ERRORS, &one, sizeof one);
  return bind(connector, (struct sockaddr *)&group, sizeof group) == 0 && send(connector, &listen, sizeof listen, 0) == (ssize_t)sizeof listen &&
         await_acknowledgement(connector);
}

int connector_open(void) {
  int connector = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, PROTOCOL_CONNECTOR);
  if (connector < 0) return -1;
  if (subscribe(connector)) {
    proc_follow_all();
    return connector;
  }
  int error = errno;
  close(connector);
  errno = error;
  return -1;
}

void connector_take(int connector) {
  struct event event;
  for (int i = 0; i < EVENTS_PER_TURN && receive(connector, &event); i++) take(&event);
}
