#define _GNU_SOURCE
#include "freeze.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "identity.h"
#include "kernel.h"
#include "lane.h"
#include "link.h"
#include "messages.gen.h"
#include "stream.h"
#include "volumes/attach.h"

#define SETTLE 1u
// From the kernel's fs.h, which musl's headers do not have.
#define FIFREEZE _IOWR('X', 119, int)
#define FITHAW _IOWR('X', 120, int)

static int changes_descriptor = -1;
static bool holding, file_system_held, volumes_held;

void freeze_open(int changes) { changes_descriptor = changes; }

bool freeze_holds(void) { return holding; }

// No signal is sent: the kernel only looks for whom it would be sent to, which leaves out this process and its init.
static bool others_exist(void) { return kill(-1, 0) == 0 || errno != ESRCH; }

// Where the bytes of files are in the sandbox's own kernel. In a container they are the host kernel's, whose snapshot has them all.
static int settle(void) {
  if (kernel_is_gvisor()) sync();
  if (changes_descriptor < 0) return 0;
  // Where nobody else is nobody writes, and a copy has nothing to let go of.
  if (!others_exist()) return syncfs(changes_descriptor) == 0 ? 0 : errno;
  // SAFETY: whoever writes waits from here on, so this process must not write to a file before freeze_end.
  if (ioctl(changes_descriptor, FIFREEZE, 0) != 0) return errno;
  file_system_held = true;
  return 0;
}

bool freeze_begin(uint32_t flags) {
  // Before the file system is held, since it may have to write.
  if (flags & SETTLE && changes_descriptor >= 0) identity_ready();
  // First: what waits for a volume could hold what the disk would have to wait for.
  volumes_held = volumes_hold();
  int error = !volumes_held ? ETIMEDOUT : flags & SETTLE ? settle() : 0;
  holding = true;
  bool encoded = encode_frozen(link_output(), 0, &(struct message_frozen){(uint32_t)error, others_exist()});
  stream_freeze(link_stream());
  lane_freeze();
  return encoded;
}

void freeze_end(bool forget) {
  if (!holding) return;
  holding = false;
  if (file_system_held) ioctl(changes_descriptor, FITHAW, 0);
  file_system_held = false;
  if (volumes_held) volumes_go_on();
  volumes_held = false;
  // A copy is told who it is after this.
  if (!forget) identity_unready();
  stream_thaw(link_stream(), forget);
  lane_thaw();
}
