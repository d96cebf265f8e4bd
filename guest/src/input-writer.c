#include "input-writer.h"

#include <errno.h>
#include <unistd.h>

#include "process.h"

#define END_OF_TRANSMISSION 4

void input_writer_open(struct input_writer *writer, struct process *process, const struct input_writer_events *events) {
  *writer = (struct input_writer){.process = process, .events = events, .next = process->writers};
  process->writers = writer;
}

void input_writer_close(struct input_writer *writer) {
  for (struct input_writer **link = &writer->process->writers; *link; link = &(*link)->next) {
    if (*link != writer) continue;
    *link = writer->next;
    break;
  }
  free(writer->pending.bytes);
  writer->pending = (struct buffer){0};
}

void input_writer_discard(struct input_writer *writer) {
  uint32_t rest = (uint32_t)(writer->pending.length - writer->written);
  writer->discarding = true;
  free(writer->pending.bytes);
  writer->pending = (struct buffer){0};
  writer->written = 0;
  writer->events->taken(writer, rest);
}

void input_writers_end(struct process *process) {
  source_close(&process->input);
  for (struct input_writer *writer = process->writers, *next; writer; writer = next) {
    next = writer->next;
    if (!writer->discarding) writer->events->broken(writer, EPIPE);
  }
}

// A terminal has no end of file of its own: the line discipline knows a character for it.
static void pass_end(struct process *process) {
  if (process->terminal) {
    uint8_t end = END_OF_TRANSMISSION;
    ssize_t ignored = write(process->input.fd, &end, 1);
    (void)ignored;
    return;
  }
  source_close(&process->input);
}

// True when the writer's bytes are all passed on.
static bool pass(struct input_writer *writer) {
  struct process *process = writer->process;
  size_t rest = writer->pending.length - writer->written;
  if (rest == 0) return true;
  ssize_t count = write(process->input.fd, writer->pending.bytes + writer->written, rest);
  if (count < 0) {
    if (errno != EAGAIN && errno != EINTR) input_writers_end(process);
    return false;
  }
  writer->written += (size_t)count;
  if (writer->written == writer->pending.length) {
    free(writer->pending.bytes);
    writer->pending = (struct buffer){0};
    writer->written = 0;
  }
  writer->events->taken(writer, (uint32_t)count);
  return (size_t)count == rest;
}

static void pass_all(struct process *process) {
  bool waiting = false;
  for (struct input_writer *writer = process->writers, *next; writer && process->input.fd >= 0; writer = next) {
    next = writer->next;
    if (!pass(writer)) {
      if (process->input.fd < 0) return;
      waiting = true;
      continue;
    }
    if (!writer->ending) continue;
    writer->ending = false;
    pass_end(process);
    writer->events->finished(writer);
  }
  if (process->input.fd < 0) input_writers_end(process);
  else source_watch(&process->input, waiting ? EPOLLOUT : 0);
}

void input_writers_ready(struct source *source, uint32_t events) {
  (void)events;
  pass_all(OWNER(source, struct process, input));
}

void input_writer_append(struct input_writer *writer, struct slice bytes) {
  if (writer->discarding || writer->process->input.fd < 0) {
    writer->events->taken(writer, bytes.length);
    return;
  }
  buffer_append(&writer->pending, bytes.bytes, bytes.length);
  if (writer->pending.failed) {
    writer->events->broken(writer, ENOMEM);
    return;
  }
  pass_all(writer->process);
}

void input_writer_finish(struct input_writer *writer) {
  if (writer->discarding) return;
  if (writer->process->input.fd < 0) {
    writer->events->finished(writer);
    return;
  }
  writer->ending = true;
  pass_all(writer->process);
}
