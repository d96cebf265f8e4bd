// Connections to the name server: a length before each question and each answer, one question at a time.
#ifndef HEARTH_NETWORK_RESOLVER_STREAMS_H
#define HEARTH_NETWORK_RESOLVER_STREAMS_H
#include <stddef.h>
#include <stdint.h>

struct source;

// The listener, which whoever opens it fills in but for its function.
struct source *resolver_streams_listener(void);
void resolver_stream_answer(uint32_t stream, const uint8_t *answer, size_t length);
void resolver_streams_close(void);
#endif
