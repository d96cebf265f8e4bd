// The ListProcesses request: one Process message each. It goes by number, so that processes may come and go between turns.
#include <errno.h>

#include "answer.h"
#include "process.h"
#include "requests.h"

struct process_list {
  struct channel channel;
  uint32_t next_number;
};

static void describe(const struct process *process, uint32_t channel, struct buffer *out) {
  bool ended = process->state == PROCESS_ENDED;
  struct message_process message = {
      .process = process->number,
      .pid = (uint32_t)process->pid,
      .started_nanoseconds = process->started_wall,
      .state = ended,
      .code = process->code,
      .signal = process->signal,
      .flags = process_flags(process),
      .output_bytes = process->log.end,
      .oldest_offset = process->log.start,
      .cpu_microseconds = process->cpu_microseconds,
      .duration_microseconds = ended ? process->duration_microseconds : (monotonic_now() - process->started_monotonic) / 1000,
      .argv = process->argv,
  };
  encode_process(out, channel, &message);
}

static enum produced produce(struct channel *channel, struct buffer *out) {
  struct process_list *list = OWNER(channel, struct process_list, channel);
  size_t limit = out->length + DATA_FRAME_BYTES;
  for (struct process *process = process_first(); process; process = process->next) {
    if (process->number < list->next_number || process->forgotten || process->state == PROCESS_STARTING) continue;
    if (out->length >= limit) return PRODUCED_MORE;
    describe(process, channel->id, out);
    list->next_number = process->number + 1;
  }
  encode_done(out, channel->id, &(struct message_done){0});
  return PRODUCED_END;
}

static void destroy(struct channel *channel) { free(OWNER(channel, struct process_list, channel)); }

void serve_list_processes(uint32_t channel) {
  static const struct channel_kind kind = {.produce = produce, .destroy = destroy};
  struct process_list *list = calloc(1, sizeof *list);
  if (!list) return answer_failed(channel, ENOMEM, "list of processes");
  if (channel_open(&list->channel, channel, &kind)) channel_ready(&list->channel);
}
