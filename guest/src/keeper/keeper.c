#define _GNU_SOURCE
#include "keeper.h"
#include "control.h"
#include "ending.h"
#include "files.h"
#include "text-file.h"
#include "relay.h"
#include "runtime.h"
#include "signals.h"
#include "system-calls.h"
#include "traffic.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define ENGINE 3

static bool take_place(struct relay *relay) {
  // Nothing of the engine's is held open here or passed on to a sandbox.
  call_close_range(ENGINE + 1, UINT_MAX);
  fcntl(ENGINE, F_SETFD, FD_CLOEXEC);
  int nothing = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; fd++)
    if (dup2(nothing, fd) < 0) return false;
  close(nothing);
  umask(077);
  relay->signals = keeper_signals_open();
  return relay->signals >= 0 && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

// keeper.pid: the process and its start time, which together are never used again.
static bool write_pid(struct failure *failure) {
  char status[1024], text[64];
  unsigned long long started = 0;
  if (text_file_get("/proc/self/stat", status, sizeof status) < 0) return fail_with(failure, errno, "keeper.pid");
  char *field = strrchr(status, ')');
  // The start time is the 22nd field; the name that ends here is the second.
  for (int i = 2; field && i < 22; i++) field = strchr(field + 1, ' ');
  if (!field || sscanf(field, "%llu", &started) != 1) return fail_with(failure, EIO, "keeper.pid");
  int length = snprintf(text, sizeof text, "%d %llu\n", (int)getpid(), started);
  return text_file_replace("keeper.pid", text, (size_t)length) || fail_with(failure, errno, "keeper.pid");
}

static bool apply_writes(char *const *writes, struct failure *failure) {
  for (size_t i = 0; writes[i]; i += 2)
    if (!text_file_put(writes[i], writes[i + 1], strlen(writes[i + 1]))) return fail_with(failure, errno, "write %s", writes[i]);
  return true;
}

static bool begin(struct relay *relay, struct runtime *runtime, const struct launch *launch, struct slice payload, struct failure *failure) {
  if (chdir(launch->directory) != 0) return fail_with(failure, errno, "directory %s", launch->directory);
  unlink("exit.json");
  // The limits are in force before the child moves on; the rest is done while it does.
  if (!apply_writes(launch->writes, failure) || !runtime_order(runtime, payload, failure)) return false;
  relay->listener = listen_on("link.sock", SOCK_NONBLOCK, failure);
  if (relay->listener < 0 || !write_pid(failure)) return false;
  if (!runtime_log_open(&relay->log)) return fail_with(failure, errno, "runtime.log");
  if (!relay_open(relay)) return fail_with(failure, ENOMEM, "buffers");
  if (!runtime_await(runtime, relay->signals, failure)) return false;
  relay->runtime = runtime->pid;
  relay->guest = runtime->link;
  relay->errors = runtime->errors;
  return true;
}

static bool prepare(struct relay *relay, struct runtime *runtime) {
  struct request request;
  struct failure failure = {EPROTO, "KeeperPrepare was expected"};
  bool joined = request_read(ENGINE, relay->signals, &request);
  if (!joined) return false;
  if (request.header.type == MESSAGE_KEEPER_PREPARE) relay->cgroups = cgroups_decode(request.payload, &failure);
  joined = relay->cgroups && runtime_prepare(relay->cgroups, ENGINE, relay->signals, runtime, &failure);
  free(request.bytes);
  if (!joined) return reply_failed(ENGINE, request.header.channel, &failure) && false;
  return reply_done(ENGINE, request.header.channel, 0);
}

static bool launch(struct relay *relay, struct runtime *runtime, struct launch *launch) {
  struct request request;
  struct failure failure = {EPROTO, "KeeperLaunch was expected"};
  if (!request_read(ENGINE, relay->signals, &request)) return false;
  bool decoded = request.header.type == MESSAGE_KEEPER_LAUNCH && launch_decode(request.payload, launch, &failure);
  bool begun = decoded && begin(relay, runtime, launch, request.payload, &failure);
  free(request.bytes);
  if (!begun) {
    if (relay->listener >= 0) names_remove();
    return reply_failed(ENGINE, request.header.channel, &failure) && false;
  }
  launch_release(launch);
  fcntl(ENGINE, F_SETFL, O_NONBLOCK);
  engine_join(relay, ENGINE);
  // Should the engine be gone already, another will come to link.sock.
  reply_done(ENGINE, request.header.channel, (uint64_t)relay->runtime);
  return true;
}

int keeper_main(int argc, char **argv) {
  (void)argc;
  (void)argv;
  // Static: what they point to is needed until the end of the process.
  static struct relay relay = {.engine = -1, .guest = -1, .errors = -1, .listener = -1, .signals = -1};
  static struct launch launched;
  struct runtime runtime;
  if (!take_place(&relay) || !prepare(&relay, &runtime) || !launch(&relay, &runtime, &launched)) {
    sandbox_give_up(&relay);
    return 1;
  }
  relay_run(&relay);
  sandbox_end(&relay, &launched);
  return 0;
}
