#include "kernel.h"

#include <string.h>
#include <sys/utsname.h>

bool kernel_is_gvisor(void) {
  static enum { UNKNOWN, NO, YES } known;
  struct utsname name;
  if (known == UNKNOWN) known = uname(&name) == 0 && strcmp(name.release, "4.4.0") == 0 ? YES : NO;
  return known == YES;
}
