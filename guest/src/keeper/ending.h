// The end of a sandbox: nothing of it keeps running, and how it ended is written down.
#ifndef HEARTH_KEEPER_ENDING_H
#define HEARTH_KEEPER_ENDING_H
#include "launch.h"
#include "relay.h"

// Kills everything below this process, waits for it, passes on the last frames, runs the cleanup and writes exit.json.
void sandbox_end(struct relay *relay, const struct launch *launch);

// Takes the keeper's names out of its directory.
void names_remove(void);

// When no runtime was executed: ends what was prepared for it.
void sandbox_give_up(struct relay *relay);

#endif
