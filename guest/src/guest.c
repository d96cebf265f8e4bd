#define _GNU_SOURCE
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capabilities.h"
#include "channel.h"
#include "children.h"
#include "configure.h"
#include "descriptors.h"
#include "freeze.h"
#include "identity.h"
#include "kernel.h"
#include "link.h"
#include "loop.h"
#include "loopback.h"
#include "machine/machine.h"
#include "network/network.h"
#include "network/own-network.h"
#include "oom-score.h"
#include "process.h"
#include "session.h"
#include "requests.h"
#include "resource-limits.h"
#include "spawn.h"
#include "statistics.h"
#include "supervision.h"
#include "users.h"

static bool prepare(struct machine *machine) {
  descriptors_fill_standard();
  // Root of a kernel of its own has them all.
  if (!machine->own_kernel && !capabilities_keep_own()) return false;
  resource_limits_open();
  oom_score_open(machine->own_kernel);
  umask(022);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (!loop_open() || !children_open() || !supervision_open(process_take_reports)) return false;
  loopback_bring_up();
  statistics_open();
  freeze_open(machine->changes);
  identity_open(machine->own_kernel);
  session_set_features((users_can_switch() ? FEATURE_SWITCH_USERS : 0) | (machine->own_kernel ? FEATURE_OWN_KERNEL : 0) |
                       (own_network_is_possible() ? FEATURE_OWN_NETWORKS : 0));
  int ignored = chdir("/");
  (void)ignored;
  return spawn_open(machine->own_kernel) && link_open(machine->input, machine->output, machine->own_kernel);
}

// What runs is killed and the stream closes: that is the answer.
void serve_shutdown(uint32_t channel) {
  (void)channel;
  loop_stop();
}

// Where the sandbox's kernel holds bytes that its end would lose. A container's bytes are the host kernel's, and a sync there would wait for
// everybody's.
static void sync_own_kernel(void) {
  if (kernel_is_gvisor()) sync();
}

int guest_main(void) {
  struct machine machine = {.input = 0, .output = 1, .changes = -1};
  // What a runtime left open is nobody's here. All that the guest opens closes itself when a command is executed.
  close_from(3);
  if (!machine_enter(&machine)) return 1;
  if (!prepare(&machine)) {
    fprintf(stderr, "hearth-guest: cannot start: %s\n", strerror(errno));
    if (machine.own_kernel) machine_leave();
    return 1;
  }
  loop_run(link_pump);
  freeze_end(true);
  network_suspend();
  channel_end_all(NULL);
  network_close();
  children_kill_all();
  process_free_all();
  if (machine.own_kernel) machine_leave();
  sync_own_kernel();
  link_close();
  children_close();
  supervision_close();
  spawn_close();
  configuration_release();
  loop_close();
  return 0;
}
