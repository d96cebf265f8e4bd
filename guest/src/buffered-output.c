#include "buffered-output.h"

#include <string.h>

#include "whole-io.h"

int buffered_flush(struct buffered_output *output) {
  int error = write_whole(output->output, output->buffer, output->length);
  if (!error) output->length = 0;
  return error;
}

int buffered_bytes(struct buffered_output *output, const void *bytes, size_t length) {
  for (const uint8_t *at = bytes; length;) {
    size_t part = sizeof output->buffer - output->length;
    if (part > length) part = length;
    memcpy(output->buffer + output->length, at, part);
    output->length += part;
    at += part;
    length -= part;
    int error = output->length == sizeof output->buffer ? buffered_flush(output) : 0;
    if (error) return error;
  }
  return 0;
}
