#include "failure.h"
#include <stdarg.h>
#include <stdio.h>

bool fail_with(struct failure *failure, int number, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  failure->number = number;
  vsnprintf(failure->what, sizeof failure->what, format, arguments);
  va_end(arguments);
  return false;
}
