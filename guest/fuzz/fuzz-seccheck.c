// Arbitrary packets of the kernel of a gVisor sandbox: whatever is read stays within its bounds.
#include <string.h>

#include "trace/seccheck.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  static struct seccheck message;
  if (!seccheck_read(bytes, length, &message)) return 0;
  const struct arguments *arguments = &message.arguments;
  if (arguments->length > ARGUMENT_BYTES) __builtin_trap();
  // Each argument ends within what was read.
  if (arguments->length && arguments->bytes[arguments->length - 1] != 0) __builtin_trap();
  if (message.kind != SECCHECK_EXECVE && arguments->length) __builtin_trap();
  return 0;
}
