#define _GNU_SOURCE
#include "socket-channel.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "messages.gen.h"

#define CONNECTION_WINDOW 131072u
// Credit is granted again in parts of the window: a grant of its own for each few bytes would wake the keeper and the host once more.
#define GRANT_BYTES (CONNECTION_WINDOW / 4)

static void close_channel(struct socket_channel *connection) {
  encode_close(channel_output(&connection->channel), connection->channel.id);
  channel_end(&connection->channel);
}

static void watch(struct socket_channel *connection) {
  bool write_waiting = connection->pending.length > connection->passed;
  uint32_t events = (connection->readable_watched && !connection->input_ended ? EPOLLIN : 0) | (write_waiting ? EPOLLOUT : 0);
  source_watch(&connection->socket, events);
}

// How many of the bytes the socket has taken; -1 when the connection broke.
static ssize_t send_some(struct socket_channel *connection, const uint8_t *bytes, size_t length) {
  size_t sent = 0;
  while (sent < length) {
    ssize_t count = send(connection->socket.fd, bytes + sent, length - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count < 0) return -1;
    sent += (size_t)count;
  }
  connection->ungranted += (uint32_t)sent;
  if (connection->ungranted >= GRANT_BYTES) {
    channel_grant(&connection->channel, connection->ungranted);
    connection->ungranted = 0;
  }
  return (ssize_t)sent;
}

// False when the connection broke.
static bool pass(struct socket_channel *connection) {
  size_t waiting = connection->pending.length - connection->passed;
  ssize_t sent = waiting == 0 ? 0 : send_some(connection, connection->pending.bytes + connection->passed, waiting);
  if (sent < 0) return false;
  connection->passed += (size_t)sent;
  if ((size_t)sent < waiting) return true;
  free(connection->pending.bytes);
  connection->pending = (struct buffer){0};
  connection->passed = 0;
  if (connection->ending && !connection->output_ended) {
    connection->output_ended = true;
    shutdown(connection->socket.fd, SHUT_WR);
  }
  return true;
}

static void pass_and_watch(struct socket_channel *connection) {
  if (!pass(connection) || (connection->input_ended && connection->output_ended)) close_channel(connection);
  else watch(connection);
}

void socket_channel_data(struct channel *channel, struct slice bytes) {
  struct socket_channel *connection = socket_channel_of(channel);
  if (connection->ending) return;
  if (connection->begun && connection->pending.length == 0) {
    ssize_t sent = send_some(connection, bytes.bytes, bytes.length);
    if (sent < 0) return close_channel(connection);
    bytes = (struct slice){bytes.bytes + sent, bytes.length - (uint32_t)sent};
  }
  if (bytes.length == 0) return;
  buffer_append(&connection->pending, bytes.bytes, bytes.length);
  if (connection->pending.failed) close_channel(connection);
  else if (connection->begun) watch(connection);
}

void socket_channel_eof(struct channel *channel) {
  struct socket_channel *connection = socket_channel_of(channel);
  connection->ending = true;
  if (connection->begun) pass_and_watch(connection);
}

static void watch_readable(struct socket_channel *connection) {
  connection->readable_watched = true;
  watch(connection);
}

static enum produced receive_end(struct socket_channel *connection, struct buffer *out) {
  connection->input_ended = true;
  encode_eof(out, connection->channel.id);
  if (!connection->output_ended) {
    watch(connection);
    return PRODUCED_NOTHING;
  }
  encode_close(out, connection->channel.id);
  return PRODUCED_END;
}

enum produced socket_channel_produce(struct channel *channel, struct buffer *out) {
  struct socket_channel *connection = socket_channel_of(channel);
  uint32_t wanted = channel_turn_bytes(channel);
  if (!connection->begun || connection->input_ended || wanted == 0) return PRODUCED_NOTHING;
  size_t frame = wire_begin(out, MESSAGE_DATA, channel->id);
  if (!buffer_reserve(out, wanted)) return PRODUCED_NOTHING;
  ssize_t count = recv(connection->socket.fd, out->bytes + out->length, wanted, 0);
  if (count > 0) {
    out->length += (size_t)count;
    wire_end(out, frame);
    channel->send_credit -= (uint64_t)count;
    if ((uint32_t)count == wanted) return PRODUCED_MORE;
    watch_readable(connection);
    return PRODUCED_NOTHING;
  }
  out->length = frame;
  if (count == 0) return receive_end(connection, out);
  if (errno == EINTR) return PRODUCED_MORE;
  if (errno == EAGAIN) {
    watch_readable(connection);
    return PRODUCED_NOTHING;
  }
  encode_close(out, channel->id);
  return PRODUCED_END;
}

// It stays watched as long as its turn comes before it is ready once more: taking it out and putting it in again costs as much as the bytes.
static void readable(struct socket_channel *connection) {
  if (connection->channel.queued || connection->channel.send_credit == 0) {
    connection->readable_watched = false;
    watch(connection);
  }
  channel_ready(&connection->channel);
}

static void socket_ready(struct source *source, uint32_t events) {
  struct socket_channel *connection = OWNER(source, struct socket_channel, socket);
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !connection->input_ended) readable(connection);
  if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) pass_and_watch(connection);
}

void socket_channel_begin(struct socket_channel *connection) {
  connection->begun = true;
  connection->socket.ready = socket_ready;
  int on = 1;
  setsockopt(connection->socket.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  channel_grant(&connection->channel, CONNECTION_WINDOW);
  connection->readable_watched = true;
  pass_and_watch(connection);
}

void socket_channel_release(struct socket_channel *connection) {
  bool complete = connection->input_ended && connection->output_ended;
  if (connection->socket.fd >= 0 && !complete) {
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(connection->socket.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  source_close(&connection->socket);
  free(connection->pending.bytes);
}
