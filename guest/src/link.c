#define _GNU_SOURCE
#include "link.h"

#include <sys/socket.h>
#include <unistd.h>

#include "framing.h"
#include "kernel.h"
#include "lane.h"
#include "loop.h"
#include "session.h"
#include "stream.h"

static struct stream stream = {.input.fd = -1, .output.fd = -1};

struct stream *link_stream(void) { return &stream; }
struct buffer *link_output(void) { return &stream.queue; }

static ssize_t read_bytes(struct stream *link, void *bytes, size_t length) { return read(link->input.fd, bytes, length); }

static void take_descriptors(struct msghdr *message) {
  struct cmsghdr *control = CMSG_FIRSTHDR(message);
  if (!control || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) return;
  int descriptor;
  memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
  lane_open(descriptor);
}

// With the descriptor that may come along.
static ssize_t read_message(struct stream *link, void *bytes, size_t length) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct iovec piece = {bytes, length};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t count = recvmsg(link->input.fd, &message, MSG_CMSG_CLOEXEC);
  if (count > 0 && message.msg_controllen > 0) take_descriptors(&message);
  return count;
}

static size_t receive(struct stream *link, const uint8_t *bytes, size_t length) {
  (void)link;
  struct frame frame;
  size_t taken = framing_next(bytes, length, &frame);
  if (taken && frame.valid) session_receive(frame.header.type, frame.header.channel, frame.payload);
  return taken;
}

static void ended(struct stream *link) {
  (void)link;
  loop_stop();
}

// gVisor passes no descriptors into a sandbox; everywhere else a socket comes from a keeper.
static bool takes_descriptors(int input) {
  int domain;
  socklen_t length = sizeof domain;
  return !kernel_is_gvisor() && getsockopt(input, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX;
}

bool link_open(int input, int output, bool endless) {
  static const struct stream_kind plain = {read_bytes, receive, ended, session_violation};
  static const struct stream_kind with_descriptors = {read_message, receive, ended, session_violation};
  return stream_open(&stream, takes_descriptors(input) ? &with_descriptors : &plain, input, output, endless);
}

void link_close(void) {
  lane_close();
  stream_close(&stream);
}

bool link_pump(void) {
  bool more = stream_pump(&stream);
  return lane_pump() || more;
}
