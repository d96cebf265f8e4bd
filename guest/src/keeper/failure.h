// Why something could not be done: the error number and what was being done. Small enough to pass through a pipe at once.
#ifndef HEARTH_KEEPER_FAILURE_H
#define HEARTH_KEEPER_FAILURE_H
#include <stdbool.h>

struct failure {
  int number;
  char what[252];
};

// Notes the failure and returns false, so that a caller can return it in turn.
bool fail_with(struct failure *failure, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
