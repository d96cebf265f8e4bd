#define _GNU_SOURCE
#include "lane.h"

#include <fcntl.h>
#include <unistd.h>

#include "channel.h"
#include "freeze.h"
#include "link.h"
#include "session.h"
#include "stream.h"

static struct stream stream = {.input.fd = -1, .output.fd = -1};
static bool over;

static bool is_open(void) { return stream.input.fd >= 0; }

static ssize_t read_bytes(struct stream *lane, void *bytes, size_t length) { return read(lane->input.fd, bytes, length); }

static void end(void) { over = true; }
static void ended(struct stream *lane) {
  (void)lane;
  end();
}

static size_t receive(struct stream *lane, const uint8_t *bytes, size_t length) {
  struct frame_header header;
  if (over || length < HEADER_BYTES) return 0;
  if (!wire_parse_header(bytes, &header)) {
    end();
    return 0;
  }
  if (length - HEADER_BYTES < header.length) return 0;
  struct slice payload = {bytes + HEADER_BYTES, header.length};
  if (!session_receive_on_lane(lane, header.type, header.channel, payload)) end();
  return HEADER_BYTES + header.length;
}

void lane_freeze(void) {
  if (is_open()) stream_freeze(&stream);
}

void lane_open(int descriptor) {
  static const struct stream_kind kind = {read_bytes, receive, ended, end};
  lane_close();
  int output = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (output < 0) close(descriptor);
  else if (!stream_open(&stream, &kind, descriptor, output, false)) lane_close();
  else if (freeze_holds()) lane_freeze();
}

void lane_close(void) {
  if (!is_open()) return;
  channel_end_all(&stream);
  stream_close(&stream);
  over = false;
}

struct stream *lane_or_link(void) { return is_open() && !over ? &stream : link_stream(); }

bool lane_pump(void) {
  if (!is_open()) return false;
  bool more = stream_pump(&stream);
  if (over) lane_close();
  return more && is_open();
}

void lane_thaw(void) {
  if (is_open()) stream_thaw(&stream, false);
}
