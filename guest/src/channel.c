#include "channel.h"

#include <errno.h>

#include "answer.h"
#include "link.h"
#include "messages.gen.h"
#include "stream.h"

#define BUCKETS 256u

static struct channel *buckets[BUCKETS];
static uint32_t count;  // of the host's
static uint32_t last_own = FIRST_OWN_CHANNEL - 1;

static struct channel **bucket_of(uint32_t id) { return &buckets[(id * 2654435761u) >> 24]; }

struct channel *channel_find(uint32_t id) {
  struct channel *channel = *bucket_of(id);
  while (channel && channel->id != id) channel = channel->next_in_bucket;
  return channel;
}

uint32_t channel_count(void) { return count; }

static void insert(struct channel *channel, uint32_t id, const struct channel_kind *kind, struct stream *stream) {
  channel->kind = kind;
  channel->stream = stream;
  channel->id = id;
  channel->send_credit = SEND_WINDOW;
  struct channel **bucket = bucket_of(id);
  channel->next_in_bucket = *bucket;
  *bucket = channel;
}

bool channel_open(struct channel *channel, uint32_t id, const struct channel_kind *kind) {
  if (count >= CHANNEL_LIMIT) {
    kind->destroy(channel);
    answer_failed(id, EMFILE, "too many channels");
    return false;
  }
  insert(channel, id, kind, link_stream());
  count++;
  return true;
}

void channel_open_own(struct channel *channel, const struct channel_kind *kind, struct stream *stream) {
  do last_own = last_own == UINT32_MAX ? FIRST_OWN_CHANNEL : last_own + 1;
  while (channel_find(last_own));
  insert(channel, last_own, kind, stream);
}

static void unqueue(struct channel *channel) {
  if (!channel->queued) return;
  channel->queued = false;
  struct stream *stream = channel->stream;
  struct channel *previous = NULL;
  for (struct channel *at = stream->first_waiting; at; previous = at, at = at->next_waiting) {
    if (at != channel) continue;
    if (previous) previous->next_waiting = at->next_waiting;
    else stream->first_waiting = at->next_waiting;
    if (stream->last_waiting == at) stream->last_waiting = previous;
    return;
  }
}

void channel_end(struct channel *channel) {
  unqueue(channel);
  for (struct channel **link = bucket_of(channel->id); *link; link = &(*link)->next_in_bucket) {
    if (*link != channel) continue;
    *link = channel->next_in_bucket;
    if (channel->id < FIRST_OWN_CHANNEL) count--;
    break;
  }
  channel->kind->destroy(channel);
}

// The first in the bucket that the stream carries.
static struct channel *first_of(const struct stream *stream, uint32_t bucket) {
  struct channel *channel = buckets[bucket];
  while (channel && stream && channel->stream != stream) channel = channel->next_in_bucket;
  return channel;
}

void channel_end_all(const struct stream *stream) {
  for (uint32_t i = 0; i < BUCKETS; i++) {
    for (struct channel *channel; (channel = first_of(stream, i));) channel_end(channel);
  }
}

struct buffer *channel_output(const struct channel *channel) { return &channel->stream->queue; }

void channel_ready(struct channel *channel) {
  if (channel->queued || !channel->kind->produce) return;
  struct stream *stream = channel->stream;
  channel->queued = true;
  channel->next_waiting = NULL;
  if (stream->last_waiting) stream->last_waiting->next_waiting = channel;
  else stream->first_waiting = channel;
  stream->last_waiting = channel;
}

bool channel_produce_next(struct stream *stream) {
  struct channel *channel = stream->first_waiting;
  if (!channel) return false;
  stream->first_waiting = channel->next_waiting;
  if (!stream->first_waiting) stream->last_waiting = NULL;
  channel->queued = false;
  enum produced produced = channel->kind->produce(channel, &stream->queue);
  if (produced == PRODUCED_MORE) channel_ready(channel);
  if (produced == PRODUCED_END) channel_end(channel);
  return true;
}

uint32_t channel_turn_bytes(const struct channel *channel) {
  return channel->send_credit < DATA_FRAME_BYTES ? (uint32_t)channel->send_credit : DATA_FRAME_BYTES;
}

void channel_grant(struct channel *channel, uint32_t bytes) {
  if (bytes == 0) return;
  channel->receive_credit += bytes;
  encode_credit(channel_output(channel), channel->id, &(struct message_credit){bytes});
}
