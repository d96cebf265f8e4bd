#ifndef HEARTH_SIGNALS_H
#define HEARTH_SIGNALS_H
#include <stdint.h>
// Answers those who wait for the end of the whole tree of a process.
void signals_tree_gone(uint32_t process);
#endif
