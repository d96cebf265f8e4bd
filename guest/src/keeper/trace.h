#ifndef HEARTH_KEEPER_TRACE_H
#define HEARTH_KEEPER_TRACE_H

// `hearth-guest trace SOCKET`: the processes of a gVisor sandbox, by its control socket, as WatchProcesses tells them, on standard output.
int trace_main(int argc, char **argv);
#endif
