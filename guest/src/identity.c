#define _GNU_SOURCE
#include "identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

enum { CONFIRMED_HOSTNAME = 1, CONFIRMED_CLOCK = 2, CONFIRMED_ENTROPY = 4 };
#define HOSTNAME_BYTES 64u
// A clock that cannot be set is the host's own; the message may have been on its way for a while.
#define CLOCK_TOLERANCE (60 * SECOND)
// From the kernel's random.h, which musl's headers do not have.
#define ADD_ENTROPY _IOW('R', 0x03, int[2])
#define RESEED _IO('R', 0x07)
#define MACHINE_ID "/etc/machine-id"
#define RANDOM_DEVICE "/dev/urandom"

// What a message takes to come is no reason to touch a clock.
#define CLOCK_TRIFLE (10 * MILLISECOND)

static bool has_own_kernel;
// Kept open in a machine: under emulation the way to it is a good part of what a copy of the machine has to do first.
static int random_device = -1;
// Open from a freeze until its end, or until a copy has used it.
static int machine_id = -1;
static bool is_ready;

void identity_open(bool own_kernel) {
  has_own_kernel = own_kernel;
  if (own_kernel) random_device = open(RANDOM_DEVICE, O_RDWR | O_CLOEXEC);
}

static bool set_hostname(struct slice wanted) {
  if (wanted.length == 0 || wanted.length > HOSTNAME_BYTES) return false;
  int ignored = sethostname((const char *)wanted.bytes, wanted.length);
  (void)ignored;  // a sandbox that may not has the name that the runtime gave it
  char name[HOSTNAME_BYTES + 1] = {0};
  return gethostname(name, sizeof name) == 0 && strlen(name) == wanted.length && memcmp(name, wanted.bytes, wanted.length) == 0;
}

static bool set_clock(uint64_t nanoseconds) {
  if (nanoseconds == 0) return false;
  struct timespec now = {(time_t)(nanoseconds / SECOND), (long)(nanoseconds % SECOND)};
  // A sandbox that shares the host's clock may not set it, and need not.
  if (clock_settime(CLOCK_REALTIME, &now) == 0) return true;
  uint64_t wall = wall_now();
  return (wall > nanoseconds ? wall - nanoseconds : nanoseconds - wall) < CLOCK_TOLERANCE;
}

void identity_clock(uint64_t realtime_nanoseconds) {
  if (has_own_kernel && wall_now() + CLOCK_TRIFLE < realtime_nanoseconds) set_clock(realtime_nanoseconds);
}

// True when the next random numbers are not those of a machine that this one was copied from.
static bool add_entropy(struct slice entropy) {
  if (entropy.length == 0) return false;
  struct {
    int bits, length;
    uint8_t bytes[512];
  } pool;
  uint32_t length = entropy.length < sizeof pool.bytes ? entropy.length : sizeof pool.bytes;
  pool.bits = (int)length * 8;
  pool.length = (int)length;
  memcpy(pool.bytes, entropy.bytes, length);
  int descriptor = random_device >= 0 ? random_device : open(RANDOM_DEVICE, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return !has_own_kernel;
  bool reseeded = ioctl(descriptor, ADD_ENTROPY, &pool) == 0 && ioctl(descriptor, RESEED) == 0;
  // Without the privilege the bytes are mixed in but not credited.
  if (!reseeded) {
    ssize_t ignored = write(descriptor, pool.bytes, length);
    (void)ignored;
  }
  if (descriptor != random_device) close(descriptor);
  return reseeded || !has_own_kernel;
}

static int open_machine_id(void) { return open(MACHINE_ID, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC); }

// Where a template has one. Nothing of ours relies on it, so that a full disk or a link in its place keeps the old one.
static void renew_machine_id(void) {
  int descriptor = is_ready ? machine_id : open_machine_id();
  if (descriptor < 0) return;
  struct stat status;
  uint8_t random[16];
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && getrandom(random, sizeof random, 0) == sizeof random) {
    char text[2 * sizeof random + 2];
    for (size_t i = 0; i < sizeof random; i++) snprintf(text + 2 * i, 3, "%02x", random[i]);
    text[2 * sizeof random] = '\n';
    ssize_t ignored = pwrite(descriptor, text, 2 * sizeof random + 1, 0);
    (void)ignored;
  }
  if (descriptor != machine_id) close(descriptor);
}

void identity_ready(void) {
  identity_unready();
  machine_id = open_machine_id();
  is_ready = true;
}

void identity_unready(void) {
  if (machine_id >= 0) close(machine_id);
  machine_id = -1;
  is_ready = false;
}

uint64_t identity_set(const struct message_configure *message, bool renewed) {
  uint64_t confirmed = 0;
  if (set_hostname(message->hostname)) confirmed |= CONFIRMED_HOSTNAME;
  if (set_clock(message->realtime_nanoseconds)) confirmed |= CONFIRMED_CLOCK;
  if (add_entropy(message->entropy)) confirmed |= CONFIRMED_ENTROPY;
  if (renewed) renew_machine_id();
  identity_unready();
  return confirmed;
}
