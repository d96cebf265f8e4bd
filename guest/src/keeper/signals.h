// The keeper's signals come through a descriptor.
#ifndef HEARTH_KEEPER_SIGNALS_H
#define HEARTH_KEEPER_SIGNALS_H
#include <stdbool.h>

// Blocks what the keeper waits for and gives the descriptor to read it from, or -1.
int keeper_signals_open(void);

// Takes all that have come. True when the keeper was told to end; that a child has ended is for waitpid to say.
bool keeper_signals_take(int signals);

// Signals as a new program expects them: none blocked, none ignored.
void keeper_signals_reset(void);

#endif
