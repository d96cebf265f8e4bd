// Stops and continues everything below the keeper, with signals: needs no cgroup, and holds on every rung whose processes are below it.
#ifndef HEARTH_KEEPER_FREEZING_H
#define HEARTH_KEEPER_FREEZING_H
#include <stdbool.h>
#include <stddef.h>

// Numbers of processes, parents before their children.
struct process_list {
  int *pids;
  size_t count;
  size_t capacity;
};

struct freezing {
  bool frozen;
  struct process_list stopped; // by us; who was stopped by somebody inside stays stopped
};

// True when nothing below this process runs any more. When that cannot be had, everything goes on and it is false.
bool freezing_begin(struct freezing *freezing);
void freezing_end(struct freezing *freezing);

#endif
