// Copies between the link and a container's attached streams.
#ifndef HEARTH_STREAMS_H
#define HEARTH_STREAMS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAM_BUFFER_BYTES 65536u

// Takes the engine's framing off a stream: 8 bytes of header (which stream, three zeros, a length in network order), then so many bytes.
struct unframer {
  uint8_t header[8];
  size_t header_length;
  uint32_t left;  // of the current frame
};

struct unframed {
  int stream;  // 1 standard output, 2 standard error, 0 nothing yet
  const uint8_t *bytes;
  size_t length;
};

// Takes the next piece off the front of the input and moves the input on. False when the framing is broken.
bool unframe(struct unframer *unframer, const uint8_t **input, size_t *length, struct unframed *piece);

// Copies until the container's side ends. Standard input to the container; its output to standard output, its errors to standard error.
int streams_copy(int container);
#endif
