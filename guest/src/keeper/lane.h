// A lane: a connection of an engine to the guest itself. The keeper passes on the descriptor, and none of its bytes.
#ifndef HEARTH_KEEPER_LANE_H
#define HEARTH_KEEPER_LANE_H
#include "relay.h"

// Takes one that waits at lane.sock. The guest has one at a time: the last.
void lane_accept(struct relay *relay);

// Passes on what was taken, as soon as nothing else waits for the guest.
void lane_give(struct relay *relay);

#endif
