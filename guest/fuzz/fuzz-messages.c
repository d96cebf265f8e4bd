// Arbitrary bytes as the stream of a host: cutting into frames, sessions, channels, credit and every decoder. The requests themselves
// are replaced, since they would act on this machine.
#include "configure.h"
#include "channel.h"
#include "framing.h"
#include "freeze.h"
#include "identity.h"
#include "lane.h"
#include "link.h"
#include "loop.h"
#include "network/network.h"
#include "requests.h"
#include "session.h"
#include "stream.h"

static struct stream through_keeper, beside_it;
void network_suspend(void) {}
void identity_clock(uint64_t realtime_nanoseconds) { (void)realtime_nanoseconds; }
static bool frozen;
struct stream *link_stream(void) { return &through_keeper; }
struct buffer *link_output(void) { return &through_keeper.queue; }
void lane_close(void) { channel_end_all(&beside_it); }
bool freeze_holds(void) { return frozen; }
void freeze_end(bool forget) {
  (void)forget;
  frozen = false;
}
bool freeze_begin(uint32_t flags) {
  frozen = true;
  return encode_frozen(link_output(), 0, &(struct message_frozen){flags, 1});
}

// A channel that takes everything and has a little to say.
static void data(struct channel *channel, struct slice bytes) { channel_grant(channel, bytes.length); }
static void eof(struct channel *channel) { channel_end(channel); }
static void destroy(struct channel *channel) { free(channel); }
static enum produced produce(struct channel *channel, struct buffer *out) {
  uint32_t length = channel_turn_bytes(channel);
  if (length > 16) length = 16;
  static const uint8_t bytes[16];
  encode_data(out, channel->id, &(struct message_data){{bytes, length}});
  channel->send_credit -= length;
  return channel->send_credit % 3 ? PRODUCED_END : PRODUCED_NOTHING;
}

static void open_channel(uint32_t id) {
  static const struct channel_kind kind = {.data = data, .eof = eof, .produce = produce, .destroy = destroy};
  struct channel *channel = calloc(1, sizeof *channel);
  if (!channel || !channel_open(channel, id, &kind)) return;
  channel_grant(channel, 1000);
  channel_ready(channel);
}

// One of the guest's own, which the host's answer ends.
static void address(struct channel *channel, const struct message_address *message) {
  (void)message;
  channel_end(channel);
}

static void open_own_channel(void) {
  static const struct channel_kind kind = {.data = data, .eof = eof, .address = address, .produce = produce, .destroy = destroy};
  struct channel *channel = calloc(1, sizeof *channel);
  if (!channel) return;
  static bool beside;
  beside = !beside;
  channel_open_own(channel, &kind, beside ? &beside_it : &through_keeper);
  channel_ready(channel);
}

static volatile uint64_t seen;
static void touch(struct slice slice) {
  for (uint32_t i = 0; i < slice.length; i++) seen += slice.bytes[i];
}
static void touch_list(struct slice_list list) {
  for (uint32_t i = 0, count = list.count; i < count; i++) touch(slice_list_next(&list));
}

#define SERVE(name, ...)                                                          \
  void serve_##name(uint32_t channel, const struct message_##name *message) {     \
    (void)message;                                                                \
    __VA_ARGS__;                                                                  \
    open_channel(channel);                                                        \
  }

struct configuration configuration;
SERVE(configure, touch(message->hostname), touch(message->entropy), touch_list(message->environment), touch(message->workdir))
SERVE(spawn, touch_list(message->argv), touch_list(message->environment), touch(message->cwd), touch(message->user))
SERVE(attach, (void)0)
SERVE(signal, (void)0)
SERVE(resize, (void)0)
SERVE(forget, (void)0)
SERVE(stdin, (void)0)
SERVE(stat, touch(message->path))
SERVE(list, touch(message->path))
SERVE(read, touch(message->path))
SERVE(write, touch(message->path), touch(message->user))
SERVE(make_directory, touch(message->path), touch(message->user))
SERVE(rename, touch(message->path), touch(message->to))
SERVE(remove, touch(message->path))
SERVE(symlink, touch(message->path), touch(message->target))
SERVE(change_mode, touch(message->path))
SERVE(watch, touch(message->path))
SERVE(create_tar, touch(message->path))
SERVE(extract_tar, touch(message->path), touch(message->user))
SERVE(list_changes, touch(message->paths))
SERVE(apply_changes, touch(message->path))
SERVE(connect, (void)0)
SERVE(network, touch(message->authority), open_own_channel())
SERVE(volumes, touch_list(message->places))
void serve_list_processes(uint32_t channel) { open_channel(channel); }
void serve_watch_processes(uint32_t channel) { open_channel(channel); }
void serve_statistics(uint32_t channel) { open_channel(channel); }
void serve_shutdown(uint32_t channel) { open_channel(channel); }

// The decoders of what only the keeper and the host read: the same table, so the same bugs.
static void decode_others(struct slice payload) {
  struct message_keeper_launch launch;
  struct message_process process;
  struct message_entry entry;
  if (decode_keeper_launch(payload, &launch)) touch_list(launch.steps), touch_list(launch.cleanup);
  if (decode_process(payload, &process)) touch_list(process.argv);
  if (decode_entry(payload, &entry)) touch(entry.path), touch(entry.target);
}

static void forget_output(size_t kept) {
  struct stream *streams[] = {&through_keeper, &beside_it};
  for (int i = 0; i < 2; i++)
    if (streams[i]->queue.length > kept) streams[i]->queue.length = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  decode_others((struct slice){bytes, (uint32_t)length});
  for (size_t used = 0; used < length;) {
    struct frame frame;
    size_t taken = framing_next(bytes + used, length - used, &frame);
    if (taken == 0) break;
    if (taken > length - used) __builtin_trap();
    used += taken;
    if (frame.valid && frame.payload.length % 4 == 3) {
      if (!session_receive_on_lane(&beside_it, frame.header.type, frame.header.channel, frame.payload)) lane_close();
    } else if (frame.valid) {
      session_receive(frame.header.type, frame.header.channel, frame.payload);
    }
    for (int i = 0; i < 4 && channel_produce_next(i % 2 ? &beside_it : &through_keeper); i++) continue;
    forget_output(1 << 20);
  }
  session_violation();
  if (channel_count() != 0 || through_keeper.first_waiting || beside_it.first_waiting) __builtin_trap();
  forget_output(0);
  return 0;
}
