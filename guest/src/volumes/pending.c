#include "pending.h"

#include "window.h"

#define MOST 64u

static struct pending queue[MOST];
static uint64_t begun, done;
static bool is_alone;

bool pending_has_room(void) { return begun - done < MOST && !is_alone; }

struct pending *pending_add(bool alone) {
  struct pending *pending = &queue[begun % MOST];
  *pending = (struct pending){.tag = ++begun};
  is_alone = alone;
  return pending;
}

struct pending *pending_first(void) { return begun == done ? NULL : &queue[done % MOST]; }

void pending_done(void) {
  window_free(queue[done % MOST].part);
  if (++done == begun) is_alone = false;
}
