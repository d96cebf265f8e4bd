#define _GNU_SOURCE
#include "network/own-network.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capabilities.h"
#include "confine.h"
#include "kernel-capabilities.h"
#include "kernel.h"
#include "loopback.h"

#define OWN_FILE "/proc/self/ns/net"

static int machine = -1;

bool own_network_is_possible(void) {
  // gVisor brings a new loopback up by itself.
  return capabilities_has(CAP_SYS_ADMIN) && (kernel_is_gvisor() || capabilities_has(CAP_NET_ADMIN)) && confine_is_possible();
}

int own_network_enter(int network) { return setns(network, CLONE_NEWNET) == 0 ? 0 : errno; }

void own_network_leave(void) {
  if (setns(machine, CLONE_NEWNET) == 0) return;
  perror("hearth-guest: the network of the machine");
  abort();
}

// In the new one.
static int describe(void) {
  loopback_bring_up();
  if (!loopback_is_up()) return -ENETDOWN;
  int network = open(OWN_FILE, O_RDONLY | O_CLOEXEC);
  return network >= 0 ? network : -errno;
}

int own_network_create(void) {
  if (machine < 0) machine = open(OWN_FILE, O_RDONLY | O_CLOEXEC);
  if (machine < 0 || unshare(CLONE_NEWNET) != 0) return -errno;
  int network = describe();
  own_network_leave();
  return network;
}
