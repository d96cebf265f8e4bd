// What tells one machine from another: name, clock, randomness.
#ifndef HEARTH_IDENTITY_H
#define HEARTH_IDENTITY_H
#include "messages.gen.h"

// own_kernel: its random numbers are this machine's own, and are copied with it.
void identity_open(bool own_kernel);
// Makes ready what a copy of this machine has to change of itself, and forgets it again. The copy finds everything slow.
void identity_ready(void);
void identity_unready(void);
// The time is this. A clock of the sandbox's own that is behind it is put forward.
void identity_clock(uint64_t realtime_nanoseconds);
// renewed: this may be a copy of another machine. Says what is confirmed, as the value of Done does.
uint64_t identity_set(const struct message_configure *message, bool renewed);
#endif
