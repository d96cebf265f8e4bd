// gVisor's program registers itself for membarrier whenever it is executed, which is six times for one sandbox, and each time the kernel
// waits until every processor has been idle or has switched: 5 to 20 milliseconds. A kernel without the call is one that it knows.
#define _GNU_SOURCE
#include "membarrier.h"

#include <errno.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define NATIVE 0xc000003eu
#elif defined(__aarch64__)
#define NATIVE 0xc00000b7u
#else
#error "membarrier.c knows x86_64 and aarch64"
#endif

// From the kernel's seccomp.h and filter.h, which musl's headers do not have.
#define MODE_FILTER 2
#define LOAD_WORD 0x20
#define JUMP_IF_EQUAL 0x15
#define RETURN 0x06
#define ANSWER_ALLOW 0x7fff0000u
#define ANSWER_ERROR 0x00050000u
#define OFFSET_OF_NUMBER 0u
#define OFFSET_OF_ARCHITECTURE 4u

struct instruction {
  uint16_t code;
  uint8_t skip_if_true, skip_if_false;
  uint32_t value;
};

struct program {
  unsigned short length;
  const struct instruction *instructions;
};

bool membarrier_refuse(struct failure *failure) {
  // What is not allowed here is a matter of other filters: this one only saves time.
  static const struct instruction filter[] = {
      {LOAD_WORD, 0, 0, OFFSET_OF_ARCHITECTURE}, {JUMP_IF_EQUAL, 0, 3, NATIVE},          {LOAD_WORD, 0, 0, OFFSET_OF_NUMBER},
      {JUMP_IF_EQUAL, 0, 1, SYS_membarrier},     {RETURN, 0, 0, ANSWER_ERROR | ENOSYS}, {RETURN, 0, 0, ANSWER_ALLOW},
  };
  struct program program = {sizeof filter / sizeof *filter, filter};
  return prctl(PR_SET_SECCOMP, MODE_FILTER, &program) == 0 || fail_with(failure, errno, "filter of membarrier");
}
