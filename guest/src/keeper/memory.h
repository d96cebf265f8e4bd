// `hearth-guest memory`: the memory of a running virtual machine as a file.
#ifndef HEARTH_KEEPER_MEMORY_H
#define HEARTH_KEEPER_MEMORY_H

int memory_main(int argc, char **argv);

#endif
