// Moves bytes between the descriptors of a link and its pumps.
#ifndef HEARTH_KEEPER_TRAFFIC_H
#define HEARTH_KEEPER_TRAFFIC_H
#include "relay.h"

// Reads once. What it found: RELAY_GOES_ON, or why the sandbox is to end.
enum relay_reason take_from_engine(struct relay *relay);
enum relay_reason take_from_guest(struct relay *relay);

void give_to_engine(struct relay *relay);
void give_to_guest(struct relay *relay);

void engine_join(struct relay *relay, int engine);

// Lets go of an engine that has hung up, after what it had still said.
void engine_leave_if_gone(struct relay *relay);

bool guest_has_more(const struct relay *relay);

#endif
