// Where keepers come from: forking a small process is cheap, and starting one from a large program is not.
#ifndef HEARTH_KEEPER_NURSERY_H
#define HEARTH_KEEPER_NURSERY_H

// `hearth-guest nursery NAME`: listens on the socket NAME of its working directory; each connection becomes the engine's end of a new
// keeper. Says one byte on descriptor 3 when it is ready, and ends, taking the socket away, when that is closed. Its keepers stay.
int nursery_main(int argc, char **argv);

#endif
