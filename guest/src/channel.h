// Channels of the session: who answers on which number, credit both ways, and whose turn it is to send.
#ifndef HEARTH_CHANNEL_H
#define HEARTH_CHANNEL_H
#include "wire.h"

#define CHANNEL_LIMIT 4096u        // that the host has opened
#define FIRST_OWN_CHANNEL 0x80000000u  // from here on the guest opens them
#define SEND_WINDOW 262144u      // credit of a new channel, guest to host
#define RECEIVE_WINDOW 262144u   // what is granted to uploads
#define DATA_FRAME_BYTES 65536u  // a turn of one channel

struct channel;
struct message_address;
struct stream;

enum produced {
  PRODUCED_NOTHING,  // waits for channel_ready
  PRODUCED_MORE,     // wants another turn
  PRODUCED_END,      // has written its final message; the channel is destroyed
};

struct channel_kind {
  void (*data)(struct channel *channel, struct slice bytes);
  void (*eof)(struct channel *channel);
  // The host's answer on a channel that the guest has opened.
  void (*address)(struct channel *channel, const struct message_address *message);
  // Writes at most one turn's worth of frames.
  enum produced (*produce)(struct channel *channel, struct buffer *out);
  // Releases everything, the channel's own memory too. Sends nothing.
  void (*destroy)(struct channel *channel);
};

struct channel {
  const struct channel_kind *kind;
  struct stream *stream;  // that carries it
  uint64_t send_credit;
  uint32_t receive_credit;
  uint32_t id;
  bool queued;
  struct channel *next_waiting, *next_in_bucket;
};

// Takes ownership, of one on the link. False when there are too many: then the channel is destroyed and Failed was sent.
bool channel_open(struct channel *channel, uint32_t id, const struct channel_kind *kind);
// Opens one of the guest's own, which its owner must have bounded: those do not count against the host's.
void channel_open_own(struct channel *channel, const struct channel_kind *kind, struct stream *stream);
struct channel *channel_find(uint32_t id);
void channel_end(struct channel *channel);
// All that this stream carries; NULL: of every one.
void channel_end_all(const struct stream *stream);
uint32_t channel_count(void);

// Gives the channel a turn to send.
void channel_ready(struct channel *channel);
// Lets the next channel of the stream produce. False when none wants to.
bool channel_produce_next(struct stream *stream);
// Where its frames for the host are written.
struct buffer *channel_output(const struct channel *channel);
// Bytes of data that this turn may carry.
uint32_t channel_turn_bytes(const struct channel *channel);

// Grants credit to the host.
void channel_grant(struct channel *channel, uint32_t bytes);
#endif
