// A framed byte stream to the host: bytes in, a bounded queue of frames out, and the channels that wait for their turn on it.
#ifndef HEARTH_STREAM_H
#define HEARTH_STREAM_H
#include "loop.h"
#include "wire.h"

#include <sys/types.h>

struct channel;
struct stream;

struct stream_kind {
  // As read(2).
  ssize_t (*read)(struct stream *stream, void *bytes, size_t length);
  // Takes what comes next and returns how much of it; 0 when more is needed.
  size_t (*receive)(struct stream *stream, const uint8_t *bytes, size_t length);
  // It has ended or broke. The stream is only told of, and closed by its owner later.
  void (*ended)(struct stream *stream);
  // Memory for the queue ran out, which was dropped.
  void (*exhausted)(void);
};

// All zero but for its kind and descriptors of -1 while it is closed.
struct stream {
  const struct stream_kind *kind;
  struct source input, output;
  bool endless, input_pending, output_blocked, parse_stalled;
  uint8_t *received;
  size_t received_start, received_length;  // of what is not taken yet
  struct buffer queue;                     // frames for the host, sent at the end of the round
  size_t sent;
  struct timer trim_timer;
  // While frozen, nothing of the queue behind this position goes out.
  bool frozen;
  size_t frozen_at;
  struct channel *first_waiting, *last_waiting;
};

// endless: the stream has no end (a virtio port, whose host comes and goes).
bool stream_open(struct stream *stream, const struct stream_kind *kind, int input, int output, bool endless);
void stream_close(struct stream *stream);
// Reads, writes what there is and lets channels produce. True when there is more to do at once.
bool stream_pump(struct stream *stream);
// What is in the queue goes out, and nothing after it until stream_thaw. Reading goes on.
void stream_freeze(struct stream *stream);
// forget: what was said meanwhile belongs to a session that is over.
void stream_thaw(struct stream *stream, bool forget);
#endif
