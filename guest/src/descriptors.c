#define _GNU_SOURCE
#include "descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

void close_from(unsigned int first) {
  // Not ~0: gVisor takes it for -1 and refuses, and closing one by one costs it a second.
  if (syscall(SYS_close_range, first, (unsigned int)INT_MAX, 0u) == 0) return;
  struct rlimit limit;
  unsigned int end = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (unsigned int)limit.rlim_cur : 65536;
  for (unsigned int descriptor = first; descriptor < end; descriptor++) close((int)descriptor);
}

void descriptors_fill_standard(void) {
  int descriptor;
  do descriptor = open("/dev/null", O_RDWR);
  while (descriptor >= 0 && descriptor < 3);
  if (descriptor > 2) close(descriptor);
}
