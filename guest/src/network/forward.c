#define _GNU_SOURCE
#include "network/forward.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lane.h"
#include "messages.gen.h"
#include "network/names.h"
#include "network/owner.h"
#include "socket-channel.h"

#define RETRY (100 * MILLISECOND)  // when there was no descriptor to be had

static uint32_t count;
static bool serving;

static void accept_again(struct timer *timer) {
  (void)timer;
  names_accept(true);
}

static struct timer retry = {.fire = accept_again};

static void destroy(struct channel *channel) {
  socket_channel_release(socket_channel_of(channel));
  free(socket_channel_of(channel));
  if (count-- == FORWARD_LIMIT) names_accept(true);
}

static const struct channel_kind kind = {
    .data = socket_channel_data, .eof = socket_channel_eof, .produce = socket_channel_produce, .destroy = destroy};

static void refuse(int descriptor) {
  struct linger reset = {.l_onoff = 1, .l_linger = 0};
  setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(descriptor);
}

static void carry(int descriptor, uint32_t scope, uint32_t address, uint16_t port, const struct sockaddr_in *peer) {
  struct socket_channel *connection = serving ? calloc(1, sizeof *connection) : NULL;
  if (!connection) return refuse(descriptor);
  connection->socket.fd = descriptor;
  channel_open_own(&connection->channel, &kind, lane_or_link());
  if (++count == FORWARD_LIMIT) names_accept(false);
  // In a network of its own there is nobody else.
  uint32_t owner = scope ? scope : owner_of(ntohl(peer->sin_addr.s_addr), ntohs(peer->sin_port), address, port);
  struct message_dial dial = {address, port, owner, scope};
  encode_dial(channel_output(&connection->channel), connection->channel.id, &dial);
  socket_channel_begin(connection);
}

void forward_accept(int listener, uint32_t scope, uint32_t address, uint16_t port) {
  struct sockaddr_in peer;
  socklen_t length = sizeof peer;
  int descriptor = accept4(listener, (struct sockaddr *)&peer, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor >= 0) return carry(descriptor, scope, address, port, &peer);
  // They wait in the kernel meanwhile.
  if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
    names_accept(false);
    timer_set(&retry, monotonic_now() + RETRY);
  }
}

void forward_serve(bool serves) { serving = serves; }

void forward_close(void) { timer_stop(&retry); }
