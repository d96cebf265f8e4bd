#ifndef HEARTH_TERMINAL_H
#define HEARTH_TERMINAL_H
#include <stdint.h>
#include <sys/types.h>

// A new terminal of that size; both ends close themselves on exec. 0 or an errno.
int terminal_open(int *controller, int *terminal, uint16_t rows, uint16_t cols, uid_t owner);
#endif
