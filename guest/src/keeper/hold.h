// Where a runtime that was started ahead of time waits until it is claimed.
#ifndef HEARTH_KEEPER_HOLD_H
#define HEARTH_KEEPER_HOLD_H

// `hearth-guest hold FIFO`: returns 0 when a byte came through it. The hook of a runtime, which goes on then; it ends with its runtime.
int hold_main(int argc, char **argv);

#endif
