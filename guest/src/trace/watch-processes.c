// WatchProcesses: a worker that hears of all processes and tells of those that execute a program.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>

#include "answer.h"
#include "guest.h"
#include "job.h"
#include "raw-calls.h"
#include "requests.h"
#include "session.h"
#include "trace/connector.h"
#include "trace/report.h"

// Told together: to wake the guest, and the host, for each one would cost a command more than all else.
#define GATHER (50 * MILLISECOND)

static int relay(int connector, int stream) {
  uint64_t due = 0;  // when what waits is told; 0 when nothing does
  report_begin();
  for (;;) {
    uint64_t now = monotonic_now();
    if (now >= due && !report_flush(stream)) return EPIPE;
    bool waits = report_waits();
    if (!waits) due = 0;
    int patience = waits && due > now ? (int)((due - now) / MILLISECOND) + 1 : -1;
    struct pollfd both[2] = {{connector, POLLIN, 0}, {stream, waits && due <= now ? POLLOUT : 0, 0}};
    if (poll(both, 2, patience) < 0 && errno != EINTR) return errno;
    if (both[1].revents & POLLERR) return EPIPE;
    if (both[0].revents) connector_take(connector);
    if (!waits && report_waits()) due = monotonic_now() + GATHER;
  }
}

static void watch(void *context, int stream, struct worker_result *result) {
  (void)context;
  // Ahead of what it tells of: a program that is short shows its arguments no longer than it runs.
  raw_call(SYS_sched_setscheduler, 0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1});
  fcntl(stream, F_SETFL, O_NONBLOCK);
  int connector = connector_open();
  result->error = connector < 0 ? errno : relay(connector, stream);
  snprintf(result->what, sizeof result->what, "the processes of the kernel");
}

void serve_watch_processes(uint32_t channel) {
  if (!session_has_feature(FEATURE_OWN_KERNEL)) return answer_failed(channel, EOPNOTSUPP, "the kernel is not the sandbox's own");
  struct job *job = job_create(channel, (struct slice){(const uint8_t *)"/", 1});
  if (job) job_run_reader(job, channel, watch);
}
