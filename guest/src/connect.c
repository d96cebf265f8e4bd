// Connect: a connection to a port of the sandbox's own loopback, both directions with their own end.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "answer.h"
#include "channel.h"
#include "link.h"
#include "loop.h"
#include "requests.h"

#define CONNECTION_WINDOW 131072u

struct connection {
  struct channel channel;
  struct source socket;
  uint16_t port;
  bool sixth, connected, input_ended, output_ended, ending;
  bool readable_watched;
  struct buffer pending;
  size_t passed;
};

static struct connection *of(struct channel *channel) { return OWNER(channel, struct connection, channel); }

static void destroy(struct channel *channel) {
  struct connection *connection = of(channel);
  bool complete = connection->input_ended && connection->output_ended;
  if (connection->socket.fd >= 0 && !complete) {
    struct linger reset = {.l_onoff = 1, .l_linger = 0};
    setsockopt(connection->socket.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  }
  source_close(&connection->socket);
  free(connection->pending.bytes);
  free(connection);
}

static void close_channel(struct connection *connection) {
  encode_close(link_output(), connection->channel.id);
  channel_end(&connection->channel);
}

static void watch(struct connection *connection) {
  bool write_waiting = connection->pending.length > connection->passed;
  uint32_t events = (connection->readable_watched && !connection->input_ended ? EPOLLIN : 0) | (write_waiting ? EPOLLOUT : 0);
  source_watch(&connection->socket, events);
}

// False when the connection broke.
static bool pass(struct connection *connection) {
  while (connection->passed < connection->pending.length) {
    ssize_t count = send(connection->socket.fd, connection->pending.bytes + connection->passed, connection->pending.length - connection->passed, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return true;
    if (count < 0) return false;
    connection->passed += (size_t)count;
    channel_grant(&connection->channel, (uint32_t)count);
  }
  free(connection->pending.bytes);
  connection->pending = (struct buffer){0};
  connection->passed = 0;
  if (connection->ending && !connection->output_ended) {
    connection->output_ended = true;
    shutdown(connection->socket.fd, SHUT_WR);
  }
  return true;
}

static void pass_and_watch(struct connection *connection) {
  if (!pass(connection) || (connection->input_ended && connection->output_ended)) close_channel(connection);
  else watch(connection);
}

static void data(struct channel *channel, struct slice bytes) {
  struct connection *connection = of(channel);
  if (connection->ending) return;
  buffer_append(&connection->pending, bytes.bytes, bytes.length);
  if (connection->pending.failed) close_channel(connection);
  else pass_and_watch(connection);
}

static void eof(struct channel *channel) {
  of(channel)->ending = true;
  if (of(channel)->connected) pass_and_watch(of(channel));
}

static enum produced receive_end(struct connection *connection, struct buffer *out) {
  connection->input_ended = true;
  encode_eof(out, connection->channel.id);
  if (!connection->output_ended) {
    watch(connection);
    return PRODUCED_NOTHING;
  }
  encode_close(out, connection->channel.id);
  return PRODUCED_END;
}

static enum produced produce(struct channel *channel, struct buffer *out) {
  struct connection *connection = of(channel);
  uint32_t wanted = channel_turn_bytes(channel);
  if (!connection->connected || connection->input_ended || wanted == 0) return PRODUCED_NOTHING;
  size_t frame = wire_begin(out, MESSAGE_DATA, channel->id);
  if (!buffer_reserve(out, wanted)) return PRODUCED_NOTHING;
  ssize_t count = recv(connection->socket.fd, out->bytes + out->length, wanted, 0);
  if (count > 0) {
    out->length += (size_t)count;
    wire_end(out, frame);
    channel->send_credit -= (uint64_t)count;
    return PRODUCED_MORE;
  }
  out->length = frame;
  if (count == 0) return receive_end(connection, out);
  if (errno == EINTR) return PRODUCED_MORE;
  if (errno == EAGAIN) {
    connection->readable_watched = true;
    watch(connection);
    return PRODUCED_NOTHING;
  }
  encode_close(out, channel->id);
  return PRODUCED_END;
}

static int start(struct connection *connection);

static void established(struct connection *connection) {
  connection->connected = true;
  int on = 1;
  setsockopt(connection->socket.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  encode_connected(link_output(), connection->channel.id);
  channel_grant(&connection->channel, CONNECTION_WINDOW);
  connection->readable_watched = true;
  pass_and_watch(connection);
}

static void connect_finished(struct connection *connection) {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(connection->socket.fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error == 0) return established(connection);
  source_close(&connection->socket);
  if (!connection->sixth) {
    connection->sixth = true;
    // What IPv4 said is what the user can do something about.
    if (start(connection) == 0) return;
  }
  uint32_t id = connection->channel.id;
  answer_failed(id, error, "port %u", connection->port);
  channel_end(&connection->channel);
}

static void socket_ready(struct source *source, uint32_t events) {
  struct connection *connection = OWNER(source, struct connection, socket);
  if (!connection->connected) return connect_finished(connection);
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && !connection->input_ended) {
    connection->readable_watched = false;
    watch(connection);
    channel_ready(&connection->channel);
  }
  if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) pass_and_watch(connection);
}

static int start(struct connection *connection) {
  struct sockaddr_in fourth = {.sin_family = AF_INET, .sin_port = htons(connection->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in6 sixth = {.sin6_family = AF_INET6, .sin6_port = htons(connection->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  struct sockaddr *address = connection->sixth ? (struct sockaddr *)&sixth : (struct sockaddr *)&fourth;
  socklen_t length = connection->sixth ? sizeof sixth : sizeof fourth;
  connection->socket.fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (connection->socket.fd < 0) return errno;
  if (connect(connection->socket.fd, address, length) != 0 && errno != EINPROGRESS) {
    int error = errno;
    source_close(&connection->socket);
    return error;
  }
  return source_watch(&connection->socket, EPOLLOUT) ? 0 : errno;
}

void serve_connect(uint32_t channel, const struct message_connect *message) {
  static const struct channel_kind kind = {.data = data, .eof = eof, .produce = produce, .destroy = destroy};
  struct connection *connection = calloc(1, sizeof *connection);
  if (!connection) return answer_failed(channel, ENOMEM, "port %u", message->port);
  connection->socket = (struct source){.fd = -1, .ready = socket_ready};
  connection->port = message->port;
  if (!channel_open(&connection->channel, channel, &kind)) return;
  int error = start(connection);
  if (error) {
    connection->sixth = true;
    if (start(connection) == 0) return;
    answer_failed(channel, error, "port %u", message->port);
    channel_end(&connection->channel);
  }
}
