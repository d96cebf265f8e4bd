#define _GNU_SOURCE
#include "loopback.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool look(int descriptor, struct ifreq *request) {
  *request = (struct ifreq){.ifr_name = "lo"};
  return descriptor >= 0 && ioctl(descriptor, SIOCGIFFLAGS, request) == 0;
}

static int open_any(void) { return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); }

void loopback_bring_up(void) {
  struct ifreq request;
  int descriptor = open_any();
  if (look(descriptor, &request) && !(request.ifr_flags & IFF_UP)) {
    request.ifr_flags |= IFF_UP | IFF_RUNNING;
    ioctl(descriptor, SIOCSIFFLAGS, &request);
  }
  if (descriptor >= 0) close(descriptor);
}

bool loopback_is_up(void) {
  struct ifreq request;
  int descriptor = open_any();
  bool up = look(descriptor, &request) && request.ifr_flags & IFF_UP;
  if (descriptor >= 0) close(descriptor);
  return up;
}
