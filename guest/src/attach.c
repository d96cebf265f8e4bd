#include "attach.h"

#include <errno.h>

#include "answer.h"
#include "link.h"
#include "messages.gen.h"
#include "requests.h"

#define INPUT_WINDOW 131072u

static struct attachment *of(struct channel *channel) { return OWNER(channel, struct attachment, channel); }

static void announce(struct attachment *attachment, struct buffer *out) {
  struct process *process = attachment->process;
  attachment->announced = true;
  if (attachment->offset < process->log.start) attachment->offset = process->log.start;
  if (attachment->offset > process->log.end) attachment->offset = process->log.end;
  encode_spawned(out, attachment->channel.id, &(struct message_spawned){process->number, (uint32_t)process->pid, process->log.start});
  if (attachment->takes_input && process->state == PROCESS_RUNNING) channel_grant(&attachment->channel, INPUT_WINDOW);
}

static void finish(struct process *process, uint32_t channel, struct buffer *out) {
  struct message_exited exited = {
      .code = process->code,
      .signal = process->signal,
      .flags = process_flags(process),
      .output_bytes = process->output_bytes,
      .cpu_microseconds = process->cpu_microseconds,
      .duration_microseconds = process->duration_microseconds,
  };
  encode_exited(out, channel, &exited);
}

static enum produced produce(struct channel *channel, struct buffer *out) {
  struct attachment *attachment = of(channel);
  struct process *process = attachment->process;
  if (process->state == PROCESS_STARTING) return PRODUCED_NOTHING;
  if (!attachment->announced) announce(attachment, out);
  uint8_t stream;
  struct slice bytes = log_peek(&process->log, attachment->offset, channel_turn_bytes(channel), &stream);
  if (bytes.length) {
    encode_output(out, channel->id, &(struct message_output){stream, attachment->offset, bytes});
    attachment->offset += bytes.length;
    channel->send_credit -= bytes.length;
    process_resume_output(process);
  }
  if (attachment->offset < process->log.end) return channel->send_credit ? PRODUCED_MORE : PRODUCED_NOTHING;
  if (process->state != PROCESS_ENDED) return PRODUCED_NOTHING;
  finish(process, channel->id, out);
  return PRODUCED_END;
}

static void receive_data(struct channel *channel, struct slice bytes) { input_writer_append(&of(channel)->writer, bytes); }
static void receive_eof(struct channel *channel) { input_writer_finish(&of(channel)->writer); }

static void detach(struct attachment *attachment) {
  struct attachment **at = &attachment->process->attachments;
  while (*at && *at != attachment) at = &(*at)->next;
  if (*at) *at = attachment->next;
}

static void destroy(struct channel *channel) {
  struct attachment *attachment = of(channel);
  struct process *process = attachment->process;
  input_writer_close(&attachment->writer);
  detach(attachment);
  free(attachment);
  // It may have been the slowest reader, or the last.
  if (process->state != PROCESS_ENDED) process_resume_output(process);
  else if (!process->attachments) process_retain_bounded();
}

static const struct channel_kind kind = {.data = receive_data, .eof = receive_eof, .produce = produce, .destroy = destroy};

static void input_taken(struct input_writer *writer, uint32_t bytes) {
  channel_grant(&OWNER(writer, struct attachment, writer)->channel, bytes);
}

// Nobody reads the input any more: what still comes is thrown away, and the host must not wait for credit.
static void input_broken(struct input_writer *writer, int error) {
  (void)error;
  input_writer_discard(writer);
}

static void input_finished(struct input_writer *writer) { (void)writer; }

static const struct input_writer_events writer_events = {input_taken, input_broken, input_finished};

static uint32_t count(const struct process *process) {
  uint32_t attachments = 0;
  for (const struct attachment *at = process->attachments; at; at = at->next) attachments++;
  return attachments;
}

struct attachment *attachment_open(uint32_t channel, struct process *process, uint64_t offset, bool takes_input) {
  struct attachment *attachment = count(process) < ATTACHMENT_LIMIT ? calloc(1, sizeof *attachment) : NULL;
  if (!attachment) {
    answer_failed(channel, count(process) < ATTACHMENT_LIMIT ? ENOMEM : EMFILE, "attach to process %u", process->number);
    return NULL;
  }
  attachment->process = process;
  attachment->offset = offset;
  attachment->takes_input = takes_input;
  input_writer_open(&attachment->writer, process, &writer_events);
  if (!channel_open(&attachment->channel, channel, &kind)) return NULL;
  attachment->next = process->attachments;
  process->attachments = attachment;
  channel_ready(&attachment->channel);
  return attachment;
}

void attachments_ready(struct process *process) {
  for (struct attachment *at = process->attachments; at; at = at->next) channel_ready(&at->channel);
}

uint64_t attachments_kept_from(const struct process *process) {
  uint64_t from = process->log.end;
  for (const struct attachment *at = process->attachments; at; at = at->next) {
    if (at->offset < from) from = at->offset;
  }
  return from;
}

void attachments_end(struct process *process) {
  while (process->attachments) {
    uint32_t id = process->attachments->channel.id;
    channel_end(&process->attachments->channel);
    encode_close(link_output(), id);
  }
}

void attachments_fail(struct process *process, int error, const char *what) {
  while (process->attachments) {
    uint32_t id = process->attachments->channel.id;
    channel_end(&process->attachments->channel);
    answer_failed(id, error, "%s", what);
  }
}

void serve_attach(uint32_t channel, const struct message_attach *message) {
  struct process *process = process_find(message->process);
  if (!process) answer_failed(channel, ESRCH, "process %u", message->process);
  else attachment_open(channel, process, message->offset, false);
}
