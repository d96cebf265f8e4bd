// What tells one machine from another: name, clock, randomness.
#ifndef HEARTH_IDENTITY_H
#define HEARTH_IDENTITY_H
#include "messages.gen.h"

// own_kernel: its random numbers are this machine's own, and are copied with it.
void identity_open(bool own_kernel);
// renewed: this may be a copy of another machine. Says what is confirmed, as the value of Done does.
uint64_t identity_set(const struct message_configure *message, bool renewed);
#endif
