#include <errno.h>
#include <unistd.h>

#include "attach.h"
#include "input-writer.h"
#include "process.h"

#define READ_BYTES 65536u
// More than a pipe holds: what comes after it was written by somebody who outlived the main process.
#define DRAIN_LIMIT (1u << 20)

enum outcome { GOT_BYTES, GOT_NOTHING, GOT_END, NO_SPACE };

static enum outcome classify(ssize_t count) {
  if (count > 0) return GOT_BYTES;
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return GOT_NOTHING;
  return GOT_END;  // end of file, or EIO from a terminal that was hung up
}

static uint8_t scratch[READ_BYTES / 4];

// After the end nobody asks for it, but who still writes must not be killed by a closed pipe.
static enum outcome discard(struct source *source) { return classify(read(source->fd, scratch, sizeof scratch)); }

// The first bytes: many a command writes none, and needs no memory for them.
static ssize_t read_first(struct process *process, struct source *source, uint8_t stream) {
  size_t limit = sizeof scratch < process->log.capacity ? sizeof scratch : process->log.capacity;
  ssize_t count = read(source->fd, scratch, limit);
  if (count > 0) log_append(&process->log, stream, (struct slice){scratch, (uint32_t)count});
  return count;
}

static ssize_t read_more(struct process *process, struct source *source, uint8_t stream, struct iovec *vectors, int vector_count) {
  ssize_t count = readv(source->fd, vectors, vector_count);
  if (count > 0) log_commit(&process->log, stream, (uint32_t)count);
  return count;
}

static enum outcome read_stream(struct process *process, struct source *source, uint8_t stream) {
  if (process->state == PROCESS_ENDED) return discard(source);
  struct iovec vectors[2];
  int vector_count;
  bool first = process->log.end == 0;
  if (!first && log_space(&process->log, attachments_kept_from(process), READ_BYTES, vectors, &vector_count) == 0) return NO_SPACE;
  ssize_t count = first ? read_first(process, source, stream) : read_more(process, source, stream, vectors, vector_count);
  enum outcome outcome = classify(count);
  if (outcome != GOT_BYTES) return outcome;
  if (process->state == PROCESS_DRAINING) process->drained += (uint32_t)count;
  attachments_ready(process);
  return GOT_BYTES;
}

static void stream_ready(struct process *process, struct source *source, uint8_t stream) {
  // Nobody has to wait for the supervisor's word when the command itself speaks.
  if (process->state == PROCESS_STARTING) process_take_report(process);
  if (source->fd < 0) return;
  enum outcome outcome = read_stream(process, source, stream);
  if (outcome == NO_SPACE) source_watch(source, 0);
  if (outcome != GOT_END) return;
  source_close(source);
  process_release_if_done(process);
}

void process_output_ready(struct source *source, uint32_t events) {
  (void)events;
  stream_ready(OWNER(source, struct process, output), source, STREAM_OUTPUT);
}

void process_error_ready(struct source *source, uint32_t events) {
  (void)events;
  stream_ready(OWNER(source, struct process, error), source, STREAM_ERROR);
}

static enum outcome drain_stream(struct process *process, struct source *source, uint8_t stream) {
  while (source->fd >= 0 && process->drained < DRAIN_LIMIT) {
    enum outcome outcome = read_stream(process, source, stream);
    if (outcome == GOT_BYTES) continue;
    if (outcome == GOT_END) source_close(source);
    return outcome;
  }
  return GOT_END;
}

static void end(struct process *process) {
  static uint64_t sequence;
  process->ended_sequence = ++sequence;
  process->state = PROCESS_ENDED;
  process->output_bytes = process->log.end;
  input_writers_end(process);
  source_watch(&process->output, EPOLLIN);
  source_watch(&process->error, EPOLLIN);
  if (process->attachments) attachments_ready(process);
  else process_retain_bounded();
}

void process_drain(struct process *process) {
  enum outcome output = drain_stream(process, &process->output, STREAM_OUTPUT);
  enum outcome error = drain_stream(process, &process->error, STREAM_ERROR);
  if (output != NO_SPACE && error != NO_SPACE) end(process);
}

void process_resume_output(struct process *process) {
  if (process->state == PROCESS_DRAINING) return process_drain(process);
  if (process->output.fd >= 0 && process->output.events == 0) source_watch(&process->output, EPOLLIN);
  if (process->error.fd >= 0 && process->error.events == 0) source_watch(&process->error, EPOLLIN);
}
