#include "session.h"

#include <unistd.h>

#include "channel.h"
#include "freeze.h"
#include "identity.h"
#include "lane.h"
#include "link.h"
#include "loop.h"
#include "messages.gen.h"
#include "network/network.h"
#include "requests.h"
#include "stream.h"

#define CREDIT_LIMIT (UINT64_MAX / 2)

static bool established;
static uint32_t features;
static uint64_t boot_nanoseconds;

void session_set_features(uint32_t value) {
  features = value;
  boot_nanoseconds = wall_now();
}

bool session_has_feature(uint32_t feature) { return (features & feature) != 0; }

void session_violation(void) {
  established = false;
  // First, since ending a channel may write to a file system that is held.
  freeze_end(true);
  network_suspend();
  lane_close();
  channel_end_all(NULL);
}

static bool receive_hello(uint32_t id, struct slice payload) {
  struct message_hello hello;
  if (id != 0 || !decode_hello(payload, &hello) || hello.nonce.length > HELLO_NONCE_LIMIT) return false;
  freeze_end(true);
  network_suspend();
  lane_close();
  channel_end_all(NULL);
  established = true;
  return encode_welcome(link_output(), 0, &(struct message_welcome){PROTOCOL_VERSION, hello.nonce, boot_nanoseconds, (uint32_t)getuid(), features});
}

static bool receive_data(struct channel *channel, struct slice payload) {
  if (payload.length > channel->receive_credit) return false;
  channel->receive_credit -= payload.length;
  if (payload.length && channel->kind->data) channel->kind->data(channel, payload);
  return true;
}

static bool receive_credit(struct channel *channel, struct slice payload) {
  struct message_credit credit;
  if (!decode_credit(payload, &credit)) return false;
  if (!channel) return true;
  if (channel->send_credit < CREDIT_LIMIT) channel->send_credit += credit.bytes;
  channel_ready(channel);
  return true;
}

// Messages that belong to a channel which is open, or was until a moment ago.
static bool receive_on_channel(uint8_t type, struct channel *channel, struct slice payload) {
  switch (type) {
    case MESSAGE_CREDIT:
      return receive_credit(channel, payload);
    case MESSAGE_DATA:
      return !channel || receive_data(channel, payload);
    case MESSAGE_EOF:
      if (!decode_eof(payload)) return false;
      if (channel && channel->kind->eof) channel->kind->eof(channel);
      return true;
    default:
      if (!decode_close(payload)) return false;
      if (channel) channel_end(channel);
      return true;
  }
}

static bool receive_address(struct channel *channel, struct slice payload) {
  struct message_address address;
  if (!decode_address(payload, &address)) return false;
  if (channel && !channel->kind->address) return false;
  if (channel) channel->kind->address(channel, &address);
  return true;
}

static bool receive_clock(uint32_t id, struct slice payload) {
  struct message_clock message;
  if (id != 0 || !decode_clock(payload, &message)) return false;
  identity_clock(message.realtime_nanoseconds);
  return true;
}

static bool receive_freeze(uint32_t id, struct slice payload) {
  struct message_freeze freeze;
  if (id != 0 || !decode_freeze(payload, &freeze)) return false;
  return freeze_begin(freeze.flags);
}

// SAFETY: a request that writes to a file system which is held would wait for the Thaw that comes behind it, for ever. The host promises to send none.
static bool receive_frozen(uint8_t type, uint32_t id, struct slice payload) {
  if (type != MESSAGE_THAW || id != 0 || !decode_thaw(payload)) return false;
  freeze_end(false);
  return true;
}

static bool receive(uint8_t type, uint32_t id, struct slice payload) {
  if (type == MESSAGE_THAW) return id == 0 && decode_thaw(payload);
  if (type == MESSAGE_CLOCK) return receive_clock(id, payload);
  if (type == MESSAGE_FREEZE) return receive_freeze(id, payload);
  if (type == MESSAGE_PING) {
    struct message_ping ping;
    return decode_ping(payload, &ping) && encode_pong(link_output(), id, &(struct message_pong){ping.token});
  }
  if (id == 0) return false;
  struct channel *channel = channel_find(id);
  if (type >= MESSAGE_CREDIT && type <= MESSAGE_EOF && type != MESSAGE_DONE && type != MESSAGE_FAILED) return receive_on_channel(type, channel, payload);
  if (id >= FIRST_OWN_CHANNEL) return type == MESSAGE_ADDRESS && receive_address(channel, payload);
  return !channel && requests_receive(type, id, payload);
}

bool session_receive_on_lane(const struct stream *lane, uint8_t type, uint32_t id, struct slice payload) {
  if (type != MESSAGE_CREDIT && type != MESSAGE_CLOSE && type != MESSAGE_DATA && type != MESSAGE_EOF) return false;
  struct channel *channel = channel_find(id);
  if (channel && channel->stream != lane) return false;
  return receive_on_channel(type, channel, payload);
}

void session_receive(uint8_t type, uint32_t id, struct slice payload) {
  if (type == MESSAGE_HELLO) {
    if (!receive_hello(id, payload)) session_violation();
    return;
  }
  // It came with a descriptor, which is taken already.
  if (!established || type == MESSAGE_LANE) return;
  if (!(freeze_holds() ? receive_frozen(type, id, payload) : receive(type, id, payload))) session_violation();
}
