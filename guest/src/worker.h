// Work that may take long, in a forked process, so that the loop never stalls.
#ifndef HEARTH_WORKER_H
#define HEARTH_WORKER_H
#include <stdbool.h>
#include <sys/types.h>

#include "loop.h"
#include "wire.h"

#define WORKER_LIMIT 64
#define WORKER_PAYLOAD 240
#define WORKER_KEPT 2
#define WORKER_FIRST_KEPT 3

// Descriptors that the next worker inherits, under the numbers from WORKER_FIRST_KEPT on; -1 for none. Its starter sets and resets them.
extern int worker_kept[WORKER_KEPT];

// What a worker says at its end: error 0 and a value, or why not.
struct worker_result {
  uint64_t value;
  int32_t error;
  char what[WORKER_PAYLOAD];  // names what failed; or a payload of the worker's own
};

struct worker {
  struct source result;
  pid_t pid;
  void (*finished)(struct worker *worker, const struct worker_result *result);
};

// Forks. In the child runs `work` with `stream` as the one descriptor besides the result (or -1), and never returns.
int worker_start(struct worker *worker, void (*work)(void *context, int stream, struct worker_result *result), void *context, int stream);
// Kills it if it still runs.
void worker_stop(struct worker *worker);
bool worker_is(pid_t pid);
void worker_ended(pid_t pid);
#endif
