#include "channel.h"

#include <errno.h>

#include "answer.h"
#include "link.h"
#include "messages.gen.h"

#define BUCKETS 256u

static struct channel *buckets[BUCKETS];
static struct channel *queue_head, *queue_tail;
static uint32_t count;  // of the host's
static uint32_t last_own = FIRST_OWN_CHANNEL - 1;

static struct channel **bucket_of(uint32_t id) { return &buckets[(id * 2654435761u) >> 24]; }

struct channel *channel_find(uint32_t id) {
  struct channel *channel = *bucket_of(id);
  while (channel && channel->id != id) channel = channel->next_in_bucket;
  return channel;
}

uint32_t channel_count(void) { return count; }

static void insert(struct channel *channel, uint32_t id, const struct channel_kind *kind) {
  channel->kind = kind;
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
  insert(channel, id, kind);
  count++;
  return true;
}

void channel_open_own(struct channel *channel, const struct channel_kind *kind) {
  do last_own = last_own == UINT32_MAX ? FIRST_OWN_CHANNEL : last_own + 1;
  while (channel_find(last_own));
  insert(channel, last_own, kind);
}

static void unqueue(struct channel *channel) {
  if (!channel->queued) return;
  channel->queued = false;
  struct channel *previous = NULL;
  for (struct channel *at = queue_head; at; previous = at, at = at->next_queued) {
    if (at != channel) continue;
    if (previous) previous->next_queued = at->next_queued;
    else queue_head = at->next_queued;
    if (queue_tail == at) queue_tail = previous;
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

void channel_end_all(void) {
  for (uint32_t i = 0; i < BUCKETS; i++) {
    while (buckets[i]) channel_end(buckets[i]);
  }
}

void channel_ready(struct channel *channel) {
  if (channel->queued || !channel->kind->produce) return;
  channel->queued = true;
  channel->next_queued = NULL;
  if (queue_tail) queue_tail->next_queued = channel;
  else queue_head = channel;
  queue_tail = channel;
}

bool channel_produce_next(struct buffer *out) {
  struct channel *channel = queue_head;
  if (!channel) return false;
  queue_head = channel->next_queued;
  if (!queue_head) queue_tail = NULL;
  channel->queued = false;
  enum produced produced = channel->kind->produce(channel, out);
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
  encode_credit(link_output(), channel->id, &(struct message_credit){bytes});
}
