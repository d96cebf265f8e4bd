// One session with one host at a time. See protocol.md.
#ifndef HEARTH_SESSION_H
#define HEARTH_SESSION_H
#include "wire.h"

struct stream;

#define HELLO_NONCE_LIMIT 256u

void session_receive(uint8_t type, uint32_t channel, struct slice payload);
// False when it is nothing that may be said there.
bool session_receive_on_lane(const struct stream *lane, uint8_t type, uint32_t channel, struct slice payload);
// The host broke a rule: its session is dropped until the next Hello.
void session_violation(void);
// Features for Welcome, found out once at the start.
void session_set_features(uint32_t features);
bool session_has_feature(uint32_t feature);
#endif
