// KeeperClaim: a runtime that was started ahead of time becomes a sandbox.
#ifndef HEARTH_KEEPER_CLAIM_H
#define HEARTH_KEEPER_CLAIM_H
#include "../wire.h"
#include "failure.h"
#include <sys/types.h>

struct claim {
  char *directory;
  char **writes;
  char **steps;
  char *server; // the first argument of the process that serves the root
  char *root;
  char **binds;
  char *gate; // the FIFO at which the runtime waits
};

bool claim_decode(struct slice payload, struct claim *claim, struct failure *failure);
void claim_release(struct claim *claim);

// Does the steps in the runtime's mount namespace, gives it its root and lets it go on. SIGTERM on the signals' descriptor gives it up.
bool claim_follow(const struct claim *claim, pid_t runtime, int signals, struct failure *failure);

#endif
