// The conversation between an engine and a new keeper, before the link is established.
#ifndef HEARTH_KEEPER_CONTROL_H
#define HEARTH_KEEPER_CONTROL_H
#include "../messages.gen.h"
#include "failure.h"

struct request {
  struct frame_header header;
  struct slice payload;
  uint8_t *bytes; // to be freed
};

// Waits for one frame, and reads not a byte beyond it. False when the engine is gone, breaks a rule, or SIGTERM has come.
bool request_read(int engine, int signals, struct request *request);
bool reply_done(int engine, uint32_t channel, uint64_t value);
bool reply_failed(int engine, uint32_t channel, const struct failure *failure);

// The cgroups that KeeperPrepare names, to be freed; NULL with a failure.
char **cgroups_decode(struct slice payload, struct failure *failure);

// Makes them and joins them.
bool cgroups_join(char *const *cgroups, struct failure *failure);

// How many processes in them the kernel has killed for want of memory.
long cgroups_oom_kills(char *const *cgroups);

// Removes them once nothing runs in them. What cannot be removed is left to the engine.
void cgroups_remove(char *const *cgroups);

#endif
