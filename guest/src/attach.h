// The channel that follows a process: its output, its end, and its input when it was opened by Spawn.
#ifndef HEARTH_ATTACH_H
#define HEARTH_ATTACH_H
#include "input-writer.h"
#include "process.h"

struct attachment {
  struct channel channel;
  struct attachment *next;  // of the same process
  struct process *process;
  uint64_t offset;  // of the next byte to send
  bool announced, takes_input;
  struct input_writer writer;
};

// How many channels may follow one process at once.
#define ATTACHMENT_LIMIT 64u

// Attaches a channel; NULL when there is no memory or too many of them (Failed was sent).
struct attachment *attachment_open(uint32_t channel, struct process *process, uint64_t offset, bool takes_input);
// Gives each channel that follows the process a turn.
void attachments_ready(struct process *process);
// The first byte that a channel still waits for; the end of the log when none does.
uint64_t attachments_kept_from(const struct process *process);
// Ends all of them with Close.
void attachments_end(struct process *process);
// Ends all of a process that could not be started.
void attachments_fail(struct process *process, int error, const char *what);
#endif
