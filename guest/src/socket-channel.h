// A connected socket and the channel that carries it: bytes both ways, each direction with its own end.
#ifndef HEARTH_SOCKET_CHANNEL_H
#define HEARTH_SOCKET_CHANNEL_H
#include "channel.h"
#include "loop.h"

struct socket_channel {
  struct channel channel;
  struct source socket;  // its owner may watch it with a function of its own until it is begun
  bool begun, input_ended, output_ended, ending, readable_watched;
  struct buffer pending;  // what the socket has not taken yet
  size_t passed;
  uint32_t ungranted;  // what the socket has taken and the host was not told of
};

static inline struct socket_channel *socket_channel_of(struct channel *channel) { return OWNER(channel, struct socket_channel, channel); }

// The socket is connected: bytes flow from now on. May end the channel.
void socket_channel_begin(struct socket_channel *connection);
// Closes the socket, with a reset unless both directions have ended, and frees what waits. Not the memory of the struct.
void socket_channel_release(struct socket_channel *connection);

// For a struct channel_kind whose channels lie in a struct socket_channel.
void socket_channel_data(struct channel *channel, struct slice bytes);
void socket_channel_eof(struct channel *channel);
enum produced socket_channel_produce(struct channel *channel, struct buffer *out);
#endif
