#define _GNU_SOURCE
#include "machine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../bulk-file.h"
#include "../descriptors.h"
#include "command-line.h"
#include "limits.h"
#include "modules.h"
#include "mounts.h"
#include "port.h"

#define MODULES "/hearth/modules"
#define VOLUME_MODULES "/hearth/volume-modules"

// The kernel's console, so that a machine that does not come up says why.
static bool complain(const char *what) {
  int error = errno;
  int console = open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);
  dprintf(console < 0 ? 2 : console, "hearth-guest: %s: %s\n", what, strerror(error));
  if (console >= 0) close(console);
  return false;
}

static bool mount_early(void) {
  mkdir("/proc", 0755);
  return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0 || errno == EBUSY;
}

bool machine_enter(struct machine *machine) {
  if (getpid() != 1) return true;
  struct command_line line;
  // A container inside such a machine sees the same command line, but not the initramfs.
  if (access(MODULES, R_OK) != 0 || !mount_early() || !command_line_read(&line)) return true;
  machine->own_kernel = true;
  bulk_file_bypass_cache();
  if (!mounts_kernel_interfaces()) complain("kernel file systems");
  descriptors_fill_standard();
  modules_load(MODULES);
  if (line.volumes) modules_load(VOLUME_MODULES);
  if (!mounts_root(&line)) {
    complain("root file system");
    machine_leave();
  }
  // SAFETY: nothing runs before its limits are in force.
  if (line.pids > 0 && !limits_set_pids(line.pids)) {
    complain("limit of processes");
    machine_leave();
  }
  machine->changes = mounts_changes();
  int port = port_open("hearth");
  // A number of its own for each direction: one descriptor cannot be watched twice.
  int output = port < 0 ? -1 : fcntl(port, F_DUPFD_CLOEXEC, 3);
  if (output < 0) {
    complain("port");
    machine_leave();
  }
  machine->input = port;
  machine->output = output;
  return true;
}

void machine_leave(void) {
  sync();
  // With -no-reboot either ends QEMU; a machine without a power switch only resets.
  reboot(RB_AUTOBOOT);
  reboot(RB_POWER_OFF);
  for (;;) pause();
}
