#define _GNU_SOURCE
#include "lane.h"
#include "../messages.gen.h"
#include "accept.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static void drop(struct relay *relay) {
  if (relay->lane >= 0) close(relay->lane);
  relay->lane = -1;
}

void lane_accept(struct relay *relay) {
  int lane = accept_own(relay->lane_listener);
  if (lane < 0) return;
  drop(relay);
  relay->lane = lane;
}

// A frame without a payload, that says on channel 0 what comes with it.
static ssize_t send_with(int guest, int descriptor) {
  uint8_t header[HEADER_BYTES] = {[4] = MESSAGE_LANE};
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
  memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
  struct iovec piece = {header, sizeof header};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(sizeof(int))};
  // So few bytes go out whole or not at all.
  return sendmsg(guest, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void lane_give(struct relay *relay) {
  // Between two frames.
  if (relay->lane < 0 || pump_has_ready(&relay->to_guest)) return;
  if (relay->guest >= 0 && send_with(relay->guest, relay->lane) < 0 && (errno == EAGAIN || errno == EINTR)) return;
  drop(relay);
}
