// What was asked of the host, in order: it answers in the same one.
#ifndef HEARTH_VOLUMES_PENDING_H
#define HEARTH_VOLUMES_PENDING_H
#include "nodes.h"
#include "volume-wire.h"

struct volume {
  int device;  // of its mount; -1: there is none
  uint16_t number;
  bool read_only;
  struct nodes nodes;
};

struct pending {
  struct volume *volume;
  uint64_t unique, tag;
  uint32_t opcode, hold, flags;
  unsigned part;  // of the window, as the request has it
  struct node *node, *other;
  char name[FUSE_NAME_MAX + 1], other_name[FUSE_NAME_MAX + 1];
};

// One more may be asked. After a request that takes names away nothing is asked before its answer: what is read meanwhile could be called otherwise by then.
bool pending_has_room(void);
struct pending *pending_add(bool alone);
// NULL when there is none.
struct pending *pending_first(void);
void pending_done(void);
#endif
