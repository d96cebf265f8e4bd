#define _GNU_SOURCE
#include "capabilities.h"

#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel-capabilities.h"

#define WORD(capability) ((capability) / 32)
#define BIT(capability) (1u << ((capability) % 32))

static bool get(struct capability_sets sets[2]) {
  struct capability_header header = {CAPABILITY_VERSION, 0};
  return syscall(SYS_capget, &header, sets) == 0;
}

static bool set(const struct capability_sets sets[2]) {
  struct capability_header header = {CAPABILITY_VERSION, 0};
  return syscall(SYS_capset, &header, sets) == 0;
}

bool capabilities_has(int capability) {
  struct capability_sets sets[2];
  return get(sets) && sets[WORD(capability)].effective & BIT(capability);
}

// Whether a program could not gain it by being executed.
static bool bound(int capability) {
  return COMMAND_CAPABILITIES & CAPABILITY_BIT(capability) || prctl(PR_CAPBSET_READ, capability) != 1 || prctl(PR_CAPBSET_DROP, capability) == 0;
}

bool capabilities_keep_own(void) {
  bool bounded = true;
  for (int capability = 0; capability <= LAST_CAPABILITY; capability++) bounded &= bound(capability);
  struct capability_sets sets[2];
  if (!get(sets)) return false;
  // What is inherited would be handed on by every execution; the kernel takes it out of the ambient ones too.
  for (int word = 0; word < 2; word++) sets[word].inheritable = 0;
  // It was needed for the bounding set alone.
  bool could_bound = sets[WORD(CAP_SETPCAP)].permitted & BIT(CAP_SETPCAP);
  sets[WORD(CAP_SETPCAP)].effective &= ~BIT(CAP_SETPCAP);
  sets[WORD(CAP_SETPCAP)].permitted &= ~BIT(CAP_SETPCAP);
  // Where the runtime gave the guest no more than its commands, there is nothing to keep.
  bool has_own = sets[WORD(CAP_SYS_ADMIN)].permitted & BIT(CAP_SYS_ADMIN);
  return set(sets) && (bounded || (!could_bound && !has_own));
}
