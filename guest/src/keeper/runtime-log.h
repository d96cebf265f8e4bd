// runtime.log: what the runtime says on standard error, its beginning and its end, whatever comes.
#ifndef HEARTH_KEEPER_RUNTIME_LOG_H
#define HEARTH_KEEPER_RUNTIME_LOG_H
#include <stdbool.h>
#include <stdint.h>

struct runtime_log {
  int file;
  uint64_t length;  // of the file
  uint64_t dropped; // bytes between its beginning and its end
};

// Makes the file in the working directory. False with errno set.
bool runtime_log_open(struct runtime_log *log);

// Takes what is there. False at the end of the stream.
bool runtime_log_take(struct runtime_log *log, int source);

// Cuts the end to its final length.
void runtime_log_close(struct runtime_log *log);

#endif
