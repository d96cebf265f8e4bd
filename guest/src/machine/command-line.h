#ifndef HEARTH_COMMAND_LINE_H
#define HEARTH_COMMAND_LINE_H
#include <stdbool.h>

// What the kernel command line says to the guest. Empty strings: not given.
struct command_line {
  char base[128], base_type[32], upper[128], upper_type[32];
  unsigned long pids;  // 0: no limit
  bool volumes;        // it may get some
};

// False when there is no hearth.base.
bool command_line_read(struct command_line *line);
#endif
