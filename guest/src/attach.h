// The channel that follows a process: its output, its end, and its input when it was opened by Spawn.
#ifndef HEARTH_ATTACH_H
#define HEARTH_ATTACH_H
#include "input-writer.h"
#include "process.h"

struct attachment {
  struct channel channel;
  struct process *process;
  uint64_t offset;  // of the next byte to send
  bool announced, takes_input;
  struct input_writer writer;
};

// Attaches a channel; NULL when there is no memory or too many channels (Failed was sent).
struct attachment *attachment_open(uint32_t channel, struct process *process, uint64_t offset, bool takes_input);
// Ends the attachment with Close.
void attachment_end(struct attachment *attachment);
// Ends the attachment of a process that could not be started.
void attachment_fail(struct attachment *attachment, int error, const char *what);
#endif
