// The lane: a second stream to the host, for the connections of programs alone, that does not lead through the keeper. See protocol.md.
#ifndef HEARTH_LANE_H
#define HEARTH_LANE_H
#include <stdbool.h>

struct stream;

// Takes the descriptor. It comes in the place of one that is there already.
void lane_open(int descriptor);
// Its channels end, and their connections with a reset.
void lane_close(void);
// What new connections are carried on: the lane, or the link when there is none.
struct stream *lane_or_link(void);
// Its turn. True when there is more to do at once.
bool lane_pump(void);
void lane_freeze(void);
void lane_thaw(void);
#endif
