// Connections to the name server: a length before each question and each answer, one question at a time.
#ifndef HEARTH_NETWORK_RESOLVER_STREAMS_H
#define HEARTH_NETWORK_RESOLVER_STREAMS_H
#include <stddef.h>
#include <stdint.h>

struct source;
struct scope;

// Of the listener of a network.
void resolver_stream_waits(struct source *listener, uint32_t events);
void resolver_stream_answer(uint32_t stream, const uint8_t *answer, size_t length);
// Those of one network, and its listener.
void resolver_streams_close(struct scope *scope);
#endif
