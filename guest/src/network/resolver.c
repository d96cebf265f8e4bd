#define _GNU_SOURCE
#include "network/resolver.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop.h"
#include "network/names.h"
#include "network/resolver-streams.h"

#define DATAGRAMS_PER_TURN 64
#define DNS_PORT 53

static bool serving;

void resolver_serve(bool serves) { serving = serves; }

void resolver_answer(const struct asker *asker, enum dns_code code, uint32_t address) {
  uint8_t answer[DNS_PACKET_BYTES];
  size_t length = dns_write(asker->packet, &asker->question, code, address, answer);
  if (asker->stream) return resolver_stream_answer(asker->stream, answer, length);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = asker->port, .sin_addr.s_addr = asker->address};
  // One that does not arrive is asked again.
  const struct scope *scope = scope_find(asker->scope);
  if (scope && scope->datagrams.fd >= 0) sendto(scope->datagrams.fd, answer, length, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to, sizeof to);
}

void resolver_ask(struct asker *asker, size_t length) {
  dns_read(asker->packet, length, &asker->question);
  const struct dns_question *question = &asker->question;
  if (question->wish == DNS_NOTHING) return;
  if (question->wish == DNS_AN_ANSWER) return resolver_answer(asker, question->code, 0);
  if (!serving) return resolver_answer(asker, DNS_FAILED, 0);
  struct scope *scope = scope_find(asker->scope);
  uint32_t known = scope ? names_find(scope, question->name) : 0;
  if (known) resolver_answer(asker, DNS_OK, known);
  else lookup_for(asker);
}

static void datagrams_ready(struct source *source, uint32_t events) {
  (void)events;
  const struct scope *scope = OWNER(source, struct scope, datagrams);
  for (int i = 0; i < DATAGRAMS_PER_TURN; i++) {
    struct asker asker = {.scope = scope->process, .stream = 0};
    struct sockaddr_in from;
    socklen_t from_length = sizeof from;
    // With its true length, so that one that was cut is found malformed.
    ssize_t length = recvfrom(source->fd, asker.packet, sizeof asker.packet, MSG_TRUNC, (struct sockaddr *)&from, &from_length);
    if (length < 0) return;
    asker.address = from.sin_addr.s_addr;
    asker.port = from.sin_port;
    resolver_ask(&asker, (size_t)length);
  }
}

static int open_at(struct source *source, int type, int backlog) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(DNS_PORT), .sin_addr.s_addr = htonl(RESOLVER_ADDRESS)};
  source->fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (source->fd < 0) return errno;
  int on = 1;
  setsockopt(source->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  bool works = bind(source->fd, (struct sockaddr *)&address, sizeof address) == 0 && (backlog == 0 || listen(source->fd, backlog) == 0) &&
               source_watch(source, EPOLLIN);
  int error = works ? 0 : errno;
  if (error) source_close(source);
  return error;
}

int resolver_open(struct scope *scope) {
  if (scope->datagrams.fd >= 0) return 0;
  scope->datagrams.ready = datagrams_ready;
  scope->streams.ready = resolver_stream_waits;
  int error = scope_enter(scope);
  if (error) return error;
  error = open_at(&scope->datagrams, SOCK_DGRAM, 0);
  if (!error) error = open_at(&scope->streams, SOCK_STREAM, STREAM_LIMIT);
  scope_leave(scope);
  if (error) source_close(&scope->datagrams);
  return error;
}

void resolver_close(struct scope *scope) {
  source_close(&scope->datagrams);
  resolver_streams_close(scope);
}
