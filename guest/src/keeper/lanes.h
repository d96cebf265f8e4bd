// Lanes: connections of an engine to the guest itself. The keeper passes on the descriptor, and none of their bytes.
#ifndef HEARTH_KEEPER_LANES_H
#define HEARTH_KEEPER_LANES_H
#include "relay.h"

// A connection from root or the keeper's own user; -1 when there is none, and others are sent away.
int accept_own(int listener);

// Takes one that waits at lane.sock. The guest has one at a time: the last.
void lane_accept(struct relay *relay);

// Passes on what was taken, as soon as nothing else waits for the guest.
void lane_give(struct relay *relay);

#endif
