#define _GNU_SOURCE
#include "network/resolver-streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop.h"
#include "network/resolver.h"

#define LENGTH_BYTES 2u
#define PATIENCE (10 * SECOND)
#define RETRY (100 * MILLISECOND)  // when there was no descriptor to be had

struct stream {
  struct source source;
  struct timer patience;  // from its beginning, and from each answer on
  uint32_t number, scope;
  size_t filled;
  uint8_t bytes[LENGTH_BYTES + DNS_PACKET_BYTES];
};

static void listen_again(struct timer *timer);
static struct timer retry = {.fire = listen_again};
static struct stream *streams[STREAM_LIMIT];
static uint32_t last_number;

static void listen_everywhere(void) {
  for (struct scope *scope = scope_first(); scope; scope = scope->next) {
    if (scope->streams.fd >= 0) source_watch(&scope->streams, EPOLLIN);
  }
}

static void close_stream(struct stream *stream) {
  for (uint32_t i = 0; i < STREAM_LIMIT; i++) {
    if (streams[i] == stream) streams[i] = NULL;
  }
  timer_stop(&stream->patience);
  source_close(&stream->source);
  free(stream);
  // There is room for another one now.
  listen_everywhere();
}

static void listen_again(struct timer *timer) {
  (void)timer;
  listen_everywhere();
}

static void lost_patience(struct timer *timer) { close_stream(OWNER(timer, struct stream, patience)); }

// The length of the question that has come whole; 0 when there is none yet.
static size_t question_bytes(const struct stream *stream) {
  if (stream->filled < LENGTH_BYTES) return 0;
  size_t length = (size_t)stream->bytes[0] << 8 | stream->bytes[1];
  return stream->filled < LENGTH_BYTES + length ? 0 : length;
}

// May close the stream.
static void ask_question(struct stream *stream, size_t length) {
  struct asker asker = {.scope = stream->scope, .stream = stream->number};
  memcpy(asker.packet, stream->bytes + LENGTH_BYTES, length);
  stream->filled -= LENGTH_BYTES + length;
  memmove(stream->bytes, stream->bytes + LENGTH_BYTES + length, stream->filled);
  // The next one is looked at when this one is answered.
  source_watch(&stream->source, 0);
  resolver_ask(&asker, length);
}

static void stream_ready(struct source *source, uint32_t events) {
  (void)events;
  struct stream *stream = OWNER(source, struct stream, source);
  size_t length = question_bytes(stream);
  if (length == 0) {
    // Full without a whole question, or one of no length: recv of nothing gives 0, as at the end.
    ssize_t count = recv(source->fd, stream->bytes + stream->filled, sizeof stream->bytes - stream->filled, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return close_stream(stream);
    stream->filled += (size_t)count;
    length = question_bytes(stream);
  }
  if (length) ask_question(stream, length);
}

void resolver_stream_answer(uint32_t number, const uint8_t *answer, size_t length) {
  struct stream *stream = NULL;
  for (uint32_t i = 0; i < STREAM_LIMIT; i++) {
    if (streams[i] && streams[i]->number == number) stream = streams[i];
  }
  if (!stream) return;
  uint8_t framed[LENGTH_BYTES + DNS_PACKET_BYTES] = {(uint8_t)(length >> 8), (uint8_t)length};
  memcpy(framed + LENGTH_BYTES, answer, length);
  // Whoever asks on without taking answers is not worth waiting for.
  if (send(stream->source.fd, framed, LENGTH_BYTES + length, MSG_NOSIGNAL) != (ssize_t)(LENGTH_BYTES + length)) return close_stream(stream);
  timer_set(&stream->patience, monotonic_now() + PATIENCE);
  // A question that is here already is taken in the next round, so that answers do not pile up on each other.
  source_watch(&stream->source, question_bytes(stream) ? EPOLLOUT : EPOLLIN);
}

void resolver_stream_waits(struct source *source, uint32_t events) {
  (void)events;
  uint32_t free_place = 0;
  while (free_place < STREAM_LIMIT && streams[free_place]) free_place++;
  if (free_place == STREAM_LIMIT) {
    source_watch(source, 0);
    return;
  }
  int descriptor = accept4(source->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
    source_watch(source, 0);
    timer_set(&retry, monotonic_now() + RETRY);
  }
  if (descriptor < 0) return;
  struct stream *stream = calloc(1, sizeof *stream);
  if (!stream) {
    close(descriptor);
    return;
  }
  if (++last_number == 0) last_number = 1;
  stream->number = last_number;
  stream->scope = OWNER(source, struct scope, streams)->process;
  stream->source = (struct source){.fd = descriptor, .ready = stream_ready};
  stream->patience.fire = lost_patience;
  streams[free_place] = stream;
  timer_set(&stream->patience, monotonic_now() + PATIENCE);
  if (!source_watch(&stream->source, EPOLLIN)) close_stream(stream);
}

void resolver_streams_close(struct scope *scope) {
  for (uint32_t i = 0; i < STREAM_LIMIT; i++) {
    if (streams[i] && streams[i]->scope == scope->process) close_stream(streams[i]);
  }
  if (scope->process == 0) timer_stop(&retry);
  source_close(&scope->streams);
}
