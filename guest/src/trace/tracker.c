#include "trace/tracker.h"

#include <stdlib.h>

#define BUCKETS 4096u
// More than this are alive in no sandbox; what is beyond belongs to no command.
#define TRACED_LIMIT 65536u

static struct traced *buckets[BUCKETS];
static uint32_t count;

struct traced *tracker_find(uint32_t pid) {
  struct traced *traced = buckets[pid % BUCKETS];
  while (traced && traced->pid != pid) traced = traced->next;
  return traced;
}

// The guest starts a supervisor for each command, and that the main process.
static uint32_t root_of(uint32_t pid, uint32_t parent) {
  if (parent == GUEST_PID) return 0;
  const struct traced *known = tracker_find(parent);
  // One from before may be the main process itself.
  if (!known) return parent;
  return known->parent == GUEST_PID ? pid : known->root;
}

struct traced *tracker_forked(uint32_t pid, uint32_t parent) {
  // Its number may have been that of another, whose end was missed.
  tracker_forget(pid);
  struct traced *traced = count < TRACED_LIMIT ? malloc(sizeof *traced) : NULL;
  if (!traced) return NULL;
  *traced = (struct traced){.next = buckets[pid % BUCKETS], .pid = pid, .parent = parent, .root = root_of(pid, parent)};
  buckets[pid % BUCKETS] = traced;
  count++;
  return traced;
}

void tracker_forget(uint32_t pid) {
  for (struct traced **link = &buckets[pid % BUCKETS]; *link; link = &(*link)->next) {
    struct traced *traced = *link;
    if (traced->pid != pid) continue;
    *link = traced->next;
    free(traced);
    count--;
    return;
  }
}
