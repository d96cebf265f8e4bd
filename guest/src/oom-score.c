#include "oom-score.h"

#include <fcntl.h>
#include <unistd.h>

#include "kernel.h"

static bool raised_by_commands;

// The kernel never kills its own init, so that commands may as well inherit it from there. gVisor kills nobody.
void oom_score_open(bool own_kernel) {
  raised_by_commands = !own_kernel && !kernel_is_gvisor();
  if (!own_kernel) return;
  int descriptor = open(OOM_SCORE_FILE, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  raised_by_commands = write(descriptor, OOM_SCORE, sizeof OOM_SCORE - 1) < 0;
  close(descriptor);
}

bool oom_score_is_raised_by_commands(void) { return raised_by_commands; }
