// Takes the memory of a running gVisor sandbox, through the control socket of its kernel.
#ifndef HEARTH_KEEPER_CHECKPOINT_H
#define HEARTH_KEEPER_CHECKPOINT_H

// `hearth-guest checkpoint SOCKET DIRECTORY [direct]`: writes the files that `runsc restore` takes into DIRECTORY, which is empty.
// Says `standing` on standard output when nothing in the sandbox runs any more, and waits for a byte on standard input; then it lets it go on
// and says `done MICROSECONDS`, how long it stood still, or `failed ` and what the kernel said, and ends with 0 or 1.
// The sandbox goes on whatever happens to this process.
int checkpoint_main(int argc, char **argv);

#endif
