// The keeper: the process on the host that owns one sandbox's runtime and passes frames between it and one engine at a time.
#ifndef HEARTH_KEEPER_H
#define HEARTH_KEEPER_H

// Runs until its sandbox has ended. Expects a connected stream socket on descriptor 3. Returns the exit status.
int keeper_main(int argc, char **argv);

#endif
