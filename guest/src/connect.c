// Connect: a connection to a port of the sandbox's own loopback.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "answer.h"
#include "link.h"
#include "requests.h"
#include "socket-channel.h"

struct connection {
  struct socket_channel carried;
  uint16_t port;
  bool sixth;
};

static void destroy(struct channel *channel) {
  socket_channel_release(socket_channel_of(channel));
  free(OWNER(socket_channel_of(channel), struct connection, carried));
}

static int start(struct connection *connection);

static void connect_finished(struct connection *connection) {
  struct socket_channel *carried = &connection->carried;
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(carried->socket.fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error == 0) {
    encode_connected(link_output(), carried->channel.id);
    return socket_channel_begin(carried);
  }
  source_close(&carried->socket);
  if (!connection->sixth) {
    connection->sixth = true;
    // What IPv4 said is what the user can do something about.
    if (start(connection) == 0) return;
  }
  uint32_t id = carried->channel.id;
  answer_failed(id, error, "port %u", connection->port);
  channel_end(&carried->channel);
}

static void socket_ready(struct source *source, uint32_t events) {
  (void)events;
  connect_finished(OWNER(source, struct connection, carried.socket));
}

static int start(struct connection *connection) {
  struct sockaddr_in fourth = {.sin_family = AF_INET, .sin_port = htons(connection->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in6 sixth = {.sin6_family = AF_INET6, .sin6_port = htons(connection->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  struct sockaddr *address = connection->sixth ? (struct sockaddr *)&sixth : (struct sockaddr *)&fourth;
  socklen_t length = connection->sixth ? sizeof sixth : sizeof fourth;
  struct source *socket_source = &connection->carried.socket;
  socket_source->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_source->fd < 0) return errno;
  if (connect(socket_source->fd, address, length) != 0 && errno != EINPROGRESS) {
    int error = errno;
    source_close(socket_source);
    return error;
  }
  return source_watch(socket_source, EPOLLOUT) ? 0 : errno;
}

void serve_connect(uint32_t channel, const struct message_connect *message) {
  static const struct channel_kind kind = {
      .data = socket_channel_data, .eof = socket_channel_eof, .produce = socket_channel_produce, .destroy = destroy};
  struct connection *connection = calloc(1, sizeof *connection);
  if (!connection) return answer_failed(channel, ENOMEM, "port %u", message->port);
  connection->carried.socket = (struct source){.fd = -1, .ready = socket_ready};
  connection->port = message->port;
  if (!channel_open(&connection->carried.channel, channel, &kind)) return;
  int error = start(connection);
  if (error) {
    connection->sixth = true;
    if (start(connection) == 0) return;
    answer_failed(channel, error, "port %u", message->port);
    channel_end(&connection->carried.channel);
  }
}
