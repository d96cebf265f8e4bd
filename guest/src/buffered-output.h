// Bytes that are collected on their way to a descriptor. Each call 0 or an errno.
#ifndef HEARTH_BUFFERED_OUTPUT_H
#define HEARTH_BUFFERED_OUTPUT_H
#include <stddef.h>
#include <stdint.h>

struct buffered_output {
  int output;
  size_t length;
  uint8_t buffer[65536];
};

int buffered_bytes(struct buffered_output *output, const void *bytes, size_t length);
int buffered_flush(struct buffered_output *output);
#endif
