// Bytes on their way into a process's standard input. Several channels may write; their bytes go in the order of arrival per channel.
#ifndef HEARTH_INPUT_WRITER_H
#define HEARTH_INPUT_WRITER_H
#include "loop.h"
#include "wire.h"

struct process;
struct input_writer;

struct input_writer_events {
  void (*taken)(struct input_writer *writer, uint32_t bytes);
  void (*broken)(struct input_writer *writer, int error);  // may destroy the writer
  void (*finished)(struct input_writer *writer);           // end of file was passed on; may destroy the writer
};

struct input_writer {
  struct process *process;
  const struct input_writer_events *events;
  struct input_writer *next;
  struct buffer pending;
  size_t written;
  bool ending, discarding;
};

void input_writer_open(struct input_writer *writer, struct process *process, const struct input_writer_events *events);
void input_writer_close(struct input_writer *writer);
void input_writer_append(struct input_writer *writer, struct slice bytes);
void input_writer_finish(struct input_writer *writer);
void input_writer_discard(struct input_writer *writer);

void input_writers_ready(struct source *source, uint32_t events);
// The process takes no more input: tells all writers.
void input_writers_end(struct process *process);
#endif
