// Of the kernel's interface, whose headers the small C library does not bring.
#ifndef HEARTH_KERNEL_CAPABILITIES_H
#define HEARTH_KERNEL_CAPABILITIES_H
#include <stdint.h>

enum {
  CAP_CHOWN = 0,
  CAP_DAC_OVERRIDE = 1,
  CAP_FOWNER = 3,
  CAP_FSETID = 4,
  CAP_KILL = 5,
  CAP_SETGID = 6,
  CAP_SETUID = 7,
  CAP_SETPCAP = 8,
  CAP_NET_BIND_SERVICE = 10,
  CAP_NET_ADMIN = 12,
  CAP_SYS_ADMIN = 21,
};

#define LAST_CAPABILITY 63
#define CAPABILITY_BIT(capability) (1ull << (capability))

// Of root inside, where the kernel is not its own. See drivers/oci/capabilities.ts.
#define COMMAND_CAPABILITIES                                                                                                    \
  (CAPABILITY_BIT(CAP_SETUID) | CAPABILITY_BIT(CAP_SETGID) | CAPABILITY_BIT(CAP_CHOWN) | CAPABILITY_BIT(CAP_DAC_OVERRIDE) |    \
   CAPABILITY_BIT(CAP_FOWNER) | CAPABILITY_BIT(CAP_FSETID) | CAPABILITY_BIT(CAP_KILL) | CAPABILITY_BIT(CAP_NET_BIND_SERVICE))

#define CAPABILITY_VERSION 0x20080522u

struct capability_header {
  uint32_t version;
  int pid;
};

// Two of them: for the capabilities below 32, and for the others.
struct capability_sets {
  uint32_t effective, permitted, inheritable;
};
#endif
