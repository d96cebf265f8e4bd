// Which process comes from which command, by what is heard of their forks.
#ifndef HEARTH_TRACE_TRACKER_H
#define HEARTH_TRACE_TRACKER_H
#include <stdbool.h>
#include <stdint.h>

// The guest's own number, on every rung that can be followed.
#define GUEST_PID 1u

struct traced {
  struct traced *next;
  uint32_t pid, parent;
  uint32_t root;   // the main process of its command; 0 for the guest's own
  uint64_t since;  // when it executed its first program, or 0
  bool told;
};

// NULL when it is not known.
struct traced *tracker_find(uint32_t pid);
// A process is new. Whoever is its parent now may be dead by the time that anybody asks. NULL when there is no room.
struct traced *tracker_forked(uint32_t pid, uint32_t parent);
void tracker_forget(uint32_t pid);
#endif
