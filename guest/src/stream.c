#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "channel.h"

#define INPUT_BYTES (256u * 1024u)
#define INPUT_TURN (64u * 1024u)     // what is read before anything is answered
#define OUTPUT_FILL (64u * 1024u)    // below this, channels may produce
#define OUTPUT_LIMIT (192u * 1024u)  // above this, no more requests are read
#define WRITES_PER_ROUND 8
#define TRIM_BYTES 16384u

static void release_memory(struct stream *stream) {
  free(stream->received);
  free(stream->queue.bytes);
  stream->received = NULL;
  stream->queue = (struct buffer){0};
}

// An idle guest holds no large buffers.
static void trim(struct timer *timer) {
  struct stream *stream = OWNER(timer, struct stream, trim_timer);
  if (stream->received_length == 0) {
    free(stream->received);
    stream->received = NULL;
  }
  if (stream->queue.length == 0) {
    free(stream->queue.bytes);
    stream->queue = (struct buffer){0};
  }
}

static void trim_later(struct stream *stream) {
  if (!stream->trim_timer.armed) timer_set(&stream->trim_timer, monotonic_now() + SECOND);
}

// The end of what may go out now.
static size_t queue_end(const struct stream *stream) { return stream->frozen ? stream->frozen_at : stream->queue.length; }

static size_t waiting_bytes(const struct stream *stream) { return queue_end(stream) - stream->sent; }

static void parse_received(struct stream *stream) {
  size_t used = 0;
  stream->parse_stalled = true;
  while (waiting_bytes(stream) < OUTPUT_LIMIT) {
    size_t taken = stream->kind->receive(stream, stream->received + stream->received_start + used, stream->received_length - used);
    if (taken == 0) {
      stream->parse_stalled = false;
      break;
    }
    used += taken;
  }
  stream->received_length -= used;
  stream->received_start = stream->received_length ? stream->received_start + used : 0;
}

// Room for one turn behind what is there. A frame that is not whole yet is moved only when the end is near.
static bool make_room(struct stream *stream) {
  if (!stream->received) stream->received = malloc(INPUT_BYTES);
  if (!stream->received) return false;
  if (stream->received_start && INPUT_BYTES - stream->received_start - stream->received_length < INPUT_TURN) {
    memmove(stream->received, stream->received + stream->received_start, stream->received_length);
    stream->received_start = 0;
  }
  return true;
}

// False when there is no more to read for now.
static bool read_some(struct stream *stream) {
  size_t room = INPUT_BYTES - stream->received_start - stream->received_length;
  ssize_t count = stream->kind->read(stream, stream->received + stream->received_start + stream->received_length, room);
  if (count > 0) {
    stream->received_length += (size_t)count;
    if (stream->received_length > TRIM_BYTES) trim_later(stream);
    // A descriptor that is watched by edges must be read until it says EAGAIN.
    if (!stream->endless && (size_t)count < room) stream->input_pending = false;
    return stream->input_pending;
  }
  if (count < 0 && errno == EINTR) return true;
  if (count == 0 && room == 0) return false;
  stream->input_pending = false;
  if (!stream->endless && (count == 0 || errno != EAGAIN)) stream->kind->ended(stream);
  return false;
}

// A virtio port gives a page at a time: several are taken before anything else is looked at.
static void read_turn(struct stream *stream) {
  size_t before = stream->received_length;
  if (!make_room(stream)) return;
  while (read_some(stream) && stream->received_length - before < INPUT_TURN) continue;
}

static void input_ready(struct source *source, uint32_t events) {
  (void)events;
  OWNER(source, struct stream, input)->input_pending = true;
}

static void output_ready(struct source *source, uint32_t events) {
  (void)events;
  OWNER(source, struct stream, output)->output_blocked = false;
  source_watch(source, 0);
}

static void port_ready(struct source *source, uint32_t events) {
  struct stream *stream = OWNER(source, struct stream, input);
  if (events & EPOLLOUT) stream->output_blocked = false;
  if (events & ~(uint32_t)EPOLLOUT) stream->input_pending = true;
}

bool stream_open(struct stream *stream, const struct stream_kind *kind, int input, int output, bool endless) {
  *stream = (struct stream){.kind = kind, .endless = endless, .trim_timer.fire = trim};
  stream->input = (struct source){.fd = input, .ready = endless ? port_ready : input_ready};
  stream->output = (struct source){.fd = output, .ready = output_ready};
  for (int i = 0; i < 2; i++) {
    int descriptor = i ? output : input;
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0) return false;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  }
  // A virtio port without a host says HUP for ever: only edges are of use. Both directions are watched in one place, since looking whether
  // a port is ready takes its next buffer from the queue, and the interrupt that follows wakes nobody: with one more to look after the
  // output, the edge of the input would now and then be lost.
  if (endless) return source_watch(&stream->input, EPOLLIN | EPOLLOUT | EPOLLET);
  return source_watch(&stream->input, EPOLLIN);
}

void stream_freeze(struct stream *stream) {
  if (stream->frozen) return;
  stream->frozen = true;
  stream->frozen_at = stream->queue.length;
}

void stream_thaw(struct stream *stream, bool forget) {
  // Up to there the host may have a part of a frame already.
  if (stream->frozen && forget) stream->queue.length = stream->frozen_at;
  stream->frozen = false;
}

void stream_close(struct stream *stream) {
  timer_stop(&stream->trim_timer);
  source_close(&stream->input);
  source_close(&stream->output);
  release_memory(stream);
  stream->received_start = stream->received_length = stream->sent = stream->frozen_at = 0;
}

// False when the host takes no more for now.
static bool write_queue(struct stream *stream) {
  ssize_t count = write(stream->output.fd, stream->queue.bytes + stream->sent, waiting_bytes(stream));
  if (count < 0 && errno == EINTR) return true;
  if (count < 0 && errno == EAGAIN) {
    stream->output_blocked = true;
    if (!stream->endless) source_watch(&stream->output, EPOLLOUT);
    return false;
  }
  if (count < 0) {
    stream->kind->ended(stream);
    return false;
  }
  stream->sent += (size_t)count;
  if (stream->sent == stream->queue.length) {
    stream->queue.length = stream->sent = stream->frozen_at = 0;
    if (stream->queue.capacity > TRIM_BYTES) trim_later(stream);
  }
  return true;
}

static void fill_queue(struct stream *stream) {
  struct buffer *queue = &stream->queue;
  if (stream->frozen || queue->length - stream->sent >= OUTPUT_FILL) return;
  if (stream->sent) {
    memmove(queue->bytes, queue->bytes + stream->sent, queue->length - stream->sent);
    queue->length -= stream->sent;
    stream->sent = 0;
  }
  while (queue->length < OUTPUT_FILL && !queue->failed && channel_produce_next(stream)) continue;
}

static void recover_from_exhausted_memory(struct stream *stream) {
  free(stream->queue.bytes);
  stream->queue = (struct buffer){0};
  stream->sent = stream->frozen_at = 0;
  stream->kind->exhausted();
}

// A host that asks but does not listen is not heard either; watching its bytes meanwhile would only wake us for nothing.
static bool may_read(struct stream *stream) {
  bool may = waiting_bytes(stream) < OUTPUT_LIMIT;
  if (!stream->endless) source_watch(&stream->input, may ? EPOLLIN : 0);
  return may;
}

bool stream_pump(struct stream *stream) {
  if (may_read(stream) && stream->input_pending) read_turn(stream);
  if (stream->received_length) parse_received(stream);
  for (int i = 0; i < WRITES_PER_ROUND && !stream->output_blocked; i++) {
    fill_queue(stream);
    if (stream->queue.failed) recover_from_exhausted_memory(stream);
    if (waiting_bytes(stream) == 0) return stream->input_pending || stream->parse_stalled;
    if (!write_queue(stream)) break;
  }
  if (stream->output_blocked) return may_read(stream) && (stream->input_pending || stream->parse_stalled);
  return true;
}
