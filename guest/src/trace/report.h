// What is told of processes: frames of Executed, Ended and Missed, at a bounded rate, into a stream that nobody has to read.
#ifndef HEARTH_TRACE_REPORT_H
#define HEARTH_TRACE_REPORT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/tracker.h"

#define ARGUMENT_BYTES 4096u
#define ARGUMENT_LIMIT 256u
// Programs that are told in a second, and at once.
#define REPORT_RATE 100u
#define REPORT_BURST 1000u

// Each ends with a zero byte, as the kernel shows them.
struct arguments {
  char bytes[ARGUMENT_BYTES];
  size_t length;
  bool cut, name_only;
};

// Takes a program's turn: false when there were too many, and then it is counted, and nobody need find out more about it.
bool report_admits(void);
void report_executed(struct traced *traced, const struct arguments *arguments, uint64_t at);
// status: as wait() gives it.
void report_ended(const struct traced *traced, uint32_t status, uint64_t at);
void report_missed(uint32_t count);
// From here on nothing is missing that is not counted.
void report_begin(void);
// Writes what the stream takes. False when its reader is gone.
bool report_flush(int stream);
// Something waits for the stream.
bool report_waits(void);
#endif
