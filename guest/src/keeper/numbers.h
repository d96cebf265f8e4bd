// Numbers out of text, with nothing else around them.
#ifndef HEARTH_KEEPER_NUMBERS_H
#define HEARTH_KEEPER_NUMBERS_H
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

static inline bool parse_number(const char *text, int base, uint64_t maximum, uint64_t *number) {
  *number = 0;
  // strtoull would take blanks and signs.
  if (*text < '0' || *text > '9') return false;
  char *end;
  errno = 0;
  *number = strtoull(text, &end, base);
  return errno == 0 && *end == 0 && *number <= maximum;
}

#endif
