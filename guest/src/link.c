#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "channel.h"
#include "framing.h"
#include "loop.h"
#include "session.h"

#define INPUT_BYTES (256u * 1024u)
#define INPUT_TURN (64u * 1024u)     // what is read before anything is answered
#define OUTPUT_FILL (64u * 1024u)    // below this, channels may produce
#define OUTPUT_LIMIT (192u * 1024u)  // above this, no more requests are read
#define WRITES_PER_ROUND 8
#define TRIM_BYTES 16384u

static struct source input = {.fd = -1}, output = {.fd = -1};
static bool stream_endless, input_pending, output_blocked, parse_stalled;
static uint8_t *received;
static size_t received_start, received_length;  // of what is not taken yet
static struct buffer queue;
static size_t queue_sent;
static struct timer trim_timer;
// While frozen, nothing of the queue behind this position goes out.
static bool frozen;
static size_t frozen_at;

struct buffer *link_output(void) { return &queue; }

void link_release_memory(void) {
  free(received);
  free(queue.bytes);
  received = NULL;
  queue = (struct buffer){0};
}

// An idle guest holds no large buffers.
static void trim(struct timer *timer) {
  (void)timer;
  if (received_length == 0) {
    free(received);
    received = NULL;
  }
  if (queue.length == 0) {
    free(queue.bytes);
    queue = (struct buffer){0};
  }
}

// The end of what may go out now.
static size_t queue_end(void) { return frozen ? frozen_at : queue.length; }

static void parse_received(void) {
  size_t used = 0;
  parse_stalled = true;
  while (queue_end() - queue_sent < OUTPUT_LIMIT) {
    struct frame frame;
    size_t taken = framing_next(received + received_start + used, received_length - used, &frame);
    if (taken == 0) {
      parse_stalled = false;
      break;
    }
    used += taken;
    if (frame.valid) session_receive(frame.header.type, frame.header.channel, frame.payload);
  }
  received_length -= used;
  received_start = received_length ? received_start + used : 0;
}

// Room for one turn behind what is there. A frame that is not whole yet is moved only when the end is near.
static bool make_room(void) {
  if (!received) received = malloc(INPUT_BYTES);
  if (!received) return false;
  if (received_start && INPUT_BYTES - received_start - received_length < INPUT_TURN) {
    memmove(received, received + received_start, received_length);
    received_start = 0;
  }
  return true;
}

// False when there is no more to read for now.
static bool read_some(void) {
  size_t room = INPUT_BYTES - received_start - received_length;
  ssize_t count = read(input.fd, received + received_start + received_length, room);
  if (count > 0) {
    received_length += (size_t)count;
    if (received_length > TRIM_BYTES && !trim_timer.armed) timer_set(&trim_timer, monotonic_now() + SECOND);
    // A descriptor that is watched by edges must be read until it says EAGAIN.
    if (!stream_endless && (size_t)count < room) input_pending = false;
    return input_pending;
  }
  if (count < 0 && errno == EINTR) return true;
  if (count == 0 && room == 0) return false;
  input_pending = false;
  if (!stream_endless && (count == 0 || errno != EAGAIN)) loop_stop();
  return false;
}

// A virtio port gives a page at a time: several are taken before anything else is looked at.
static void read_turn(void) {
  size_t before = received_length;
  if (!make_room()) return;
  while (read_some() && received_length - before < INPUT_TURN) continue;
}

static void input_ready(struct source *source, uint32_t events) {
  (void)source, (void)events;
  input_pending = true;
}

static void output_ready(struct source *source, uint32_t events) {
  (void)events;
  output_blocked = false;
  source_watch(source, 0);
}

static void port_ready(struct source *source, uint32_t events) {
  (void)source;
  if (events & EPOLLOUT) output_blocked = false;
  if (events & ~(uint32_t)EPOLLOUT) input_pending = true;
}

bool link_open(int input_descriptor, int output_descriptor, bool endless) {
  stream_endless = endless;
  trim_timer.fire = trim;
  input = (struct source){.fd = input_descriptor, .ready = endless ? port_ready : input_ready};
  output = (struct source){.fd = output_descriptor, .ready = output_ready};
  for (int i = 0; i < 2; i++) {
    int descriptor = i ? output_descriptor : input_descriptor;
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) return false;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
  // A virtio port without a host says HUP for ever: only edges are of use. Both directions are watched in one place, since looking whether
  // a port is ready takes its next buffer from the queue, and the interrupt that follows wakes nobody: with one more to look after the
  // output, the edge of the input would now and then be lost.
  if (endless) return source_watch(&input, EPOLLIN | EPOLLOUT | EPOLLET);
  return source_watch(&input, EPOLLIN);
}

void link_freeze(void) {
  if (frozen) return;
  frozen = true;
  frozen_at = queue.length;
}

void link_thaw(bool forget) {
  // Up to there the host may have a part of a frame already.
  if (frozen && forget) queue.length = frozen_at;
  frozen = false;
}

void link_close(void) {
  timer_stop(&trim_timer);
  source_close(&input);
  source_close(&output);
  link_release_memory();
  received_start = received_length = queue_sent = 0;
}

// False when the host takes no more for now.
static bool write_queue(void) {
  ssize_t count = write(output.fd, queue.bytes + queue_sent, queue_end() - queue_sent);
  if (count < 0 && errno == EINTR) return true;
  if (count < 0 && errno == EAGAIN) {
    output_blocked = true;
    if (!stream_endless) source_watch(&output, EPOLLOUT);
    return false;
  }
  if (count < 0) {
    loop_stop();
    return false;
  }
  queue_sent += (size_t)count;
  if (queue_sent == queue.length) {
    queue.length = queue_sent = frozen_at = 0;
    if (queue.capacity > TRIM_BYTES && !trim_timer.armed) timer_set(&trim_timer, monotonic_now() + SECOND);
  }
  return true;
}

static void fill_queue(void) {
  if (frozen || queue.length - queue_sent >= OUTPUT_FILL) return;
  if (queue_sent) {
    memmove(queue.bytes, queue.bytes + queue_sent, queue.length - queue_sent);
    queue.length -= queue_sent;
    queue_sent = 0;
  }
  while (queue.length < OUTPUT_FILL && !queue.failed && channel_produce_next(&queue)) continue;
}

static void recover_from_exhausted_memory(void) {
  free(queue.bytes);
  queue = (struct buffer){0};
  queue_sent = frozen_at = 0;
  session_violation();
}

// A host that asks but does not listen is not heard either; watching its bytes meanwhile would only wake us for nothing.
static bool may_read(void) {
  bool may = queue_end() - queue_sent < OUTPUT_LIMIT;
  if (!stream_endless) source_watch(&input, may ? EPOLLIN : 0);
  return may;
}

bool link_pump(void) {
  if (may_read() && input_pending) read_turn();
  if (received_length) parse_received();
  for (int i = 0; i < WRITES_PER_ROUND && !output_blocked; i++) {
    fill_queue();
    if (queue.failed) recover_from_exhausted_memory();
    if (queue_end() == queue_sent) return input_pending || parse_stalled;
    if (!write_queue()) break;
  }
  if (output_blocked) return may_read() && (input_pending || parse_stalled);
  return true;
}

void link_drain(void) {
  uint64_t deadline = monotonic_now() + 2 * SECOND;
  while (queue_end() > queue_sent && monotonic_now() < deadline) {
    struct pollfd wait = {.fd = output.fd, .events = POLLOUT};
    if (output_blocked) poll(&wait, 1, 100);
    output_blocked = false;
    if (!write_queue() && !output_blocked) return;
  }
}
