// The Stdin request: a channel that only feeds a process.
#include <errno.h>

#include "answer.h"
#include "input-writer.h"
#include "link.h"
#include "process.h"
#include "requests.h"

#define INPUT_WINDOW 131072u

struct stdin_channel {
  struct channel channel;
  struct input_writer writer;
  uint64_t total;
};

static struct stdin_channel *of_writer(struct input_writer *writer) { return OWNER(writer, struct stdin_channel, writer); }

static void data(struct channel *channel, struct slice bytes) { input_writer_append(&OWNER(channel, struct stdin_channel, channel)->writer, bytes); }
static void eof(struct channel *channel) { input_writer_finish(&OWNER(channel, struct stdin_channel, channel)->writer); }

static void destroy(struct channel *channel) {
  struct stdin_channel *input = OWNER(channel, struct stdin_channel, channel);
  input_writer_close(&input->writer);
  free(input);
}

static void taken(struct input_writer *writer, uint32_t bytes) {
  of_writer(writer)->total += bytes;
  channel_grant(&of_writer(writer)->channel, bytes);
}

static void broken(struct input_writer *writer, int error) {
  uint32_t id = of_writer(writer)->channel.id;
  channel_end(&of_writer(writer)->channel);
  answer_failed(id, error, "standard input");
}

static void finished(struct input_writer *writer) {
  uint32_t id = of_writer(writer)->channel.id;
  uint64_t total = of_writer(writer)->total;
  channel_end(&of_writer(writer)->channel);
  answer_done(id, total);
}

void serve_stdin(uint32_t channel, const struct message_stdin *message) {
  static const struct channel_kind kind = {.data = data, .eof = eof, .destroy = destroy};
  static const struct input_writer_events events = {taken, broken, finished};
  struct process *process = process_find(message->process);
  if (!process) return answer_failed(channel, ESRCH, "process %u", message->process);
  if (process->input.fd < 0) return answer_failed(channel, EPIPE, "standard input of process %u", message->process);
  struct stdin_channel *input = calloc(1, sizeof *input);
  if (!input) return answer_failed(channel, ENOMEM, "standard input");
  input_writer_open(&input->writer, process, &events);
  if (channel_open(&input->channel, channel, &kind)) channel_grant(&input->channel, INPUT_WINDOW);
}
