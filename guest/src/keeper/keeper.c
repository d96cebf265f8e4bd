#define _GNU_SOURCE
#include "keeper.h"
#include "claim.h"
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
#include <poll.h>
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

// The limits of the sandbox are in force before anything of it moves on.
static bool settle(const char *directory, char *const *writes, struct failure *failure) {
  if (chdir(directory) != 0) return fail_with(failure, errno, "directory %s", directory);
  unlink("exit.json");
  return apply_writes(writes, failure);
}

static bool open_names(struct relay *relay, bool lane, struct failure *failure) {
  relay->listener = listen_on("link.sock", SOCK_NONBLOCK, failure);
  if (lane) relay->lane_listener = listen_on("lane.sock", SOCK_NONBLOCK, failure);
  if (relay->listener < 0 || (lane && relay->lane_listener < 0) || !write_pid(failure)) return false;
  if (!runtime_log_open(&relay->log)) return fail_with(failure, errno, "runtime.log");
  return relay_open(relay) || fail_with(failure, ENOMEM, "buffers");
}

static void adopt_runtime(struct relay *relay, const struct runtime *runtime) {
  relay->runtime = runtime->pid;
  relay->guest = runtime->link;
  relay->errors = runtime->errors;
}

static bool begin(struct relay *relay, struct runtime *runtime, const struct launch *launch, struct slice payload, struct failure *failure) {
  bool ahead = launch->flags & LAUNCH_AHEAD;
  if (!(ahead ? apply_writes(launch->writes, failure) : settle(launch->directory, launch->writes, failure))) return false;
  // The names are made while the child moves on.
  if (!runtime_order(runtime, payload, failure) || (!ahead && !open_names(relay, launch->flags & LAUNCH_LANE, failure))) return false;
  if (!runtime_await(runtime, relay->signals, failure)) return false;
  adopt_runtime(relay, runtime);
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

static bool refuse(struct relay *relay, uint32_t channel, const struct failure *failure) {
  if (relay->listener >= 0) names_remove();
  return reply_failed(ENGINE, channel, failure) && false;
}

static bool launch(struct relay *relay, struct runtime *runtime, struct launch *launch) {
  struct request request;
  struct failure failure = {EPROTO, "KeeperLaunch was expected"};
  if (!request_read(ENGINE, relay->signals, &request)) return false;
  bool decoded = request.header.type == MESSAGE_KEEPER_LAUNCH && launch_decode(request.payload, launch, &failure);
  bool begun = decoded && begin(relay, runtime, launch, request.payload, &failure);
  free(request.bytes);
  if (!begun) return refuse(relay, request.header.channel, &failure);
  launch_release(launch);
  // Should the engine be gone already, another will come to link.sock.
  reply_done(ENGINE, request.header.channel, (uint64_t)relay->runtime);
  return true;
}

static bool make_sandbox(struct relay *relay, const struct claim *claim, struct failure *failure) {
  if (!settle(claim->directory, claim->writes, failure) || !open_names(relay, false, failure)) return false;
  bool done = claim_follow(claim, relay->runtime, relay->signals, failure);
  if (!done) runtime_log_take(&relay->log, relay->errors);
  return done;
}

// False when the runtime ends before anybody wants it, or we are told to.
static bool await_claim(struct relay *relay) {
  struct pollfd polls[2] = {{ENGINE, POLLIN, 0}, {relay->signals, POLLIN, 0}};
  do {
    if (polls[1].revents && keeper_signals_take(relay->signals)) return false;
    relay_reap(relay);
    if (relay->runtime_ended) return false;
    poll(polls, 2, -1);
  } while (!polls[0].revents);
  return true;
}

static bool claim(struct relay *relay) {
  struct request request;
  struct claim claim = {0};
  struct failure failure = {EPROTO, "KeeperClaim was expected"};
  if (!await_claim(relay) || !request_read(ENGINE, relay->signals, &request)) return false;
  bool decoded = request.header.type == MESSAGE_KEEPER_CLAIM && claim_decode(request.payload, &claim, &failure);
  bool made = decoded && make_sandbox(relay, &claim, &failure);
  free(request.bytes);
  claim_release(&claim);
  if (!made) return refuse(relay, request.header.channel, &failure);
  reply_done(ENGINE, request.header.channel, (uint64_t)relay->runtime);
  return true;
}

int keeper_main(int argc, char **argv) {
  (void)argc;
  (void)argv;
  // Static: what they point to is needed until the end of the process.
  static struct relay relay = {.engine = -1, .guest = -1, .errors = -1, .listener = -1, .lane_listener = -1, .lane = -1, .signals = -1};
  static struct launch launched;
  struct runtime runtime;
  if (!take_place(&relay) || !prepare(&relay, &runtime) || !launch(&relay, &runtime, &launched) ||
      (launched.flags & LAUNCH_AHEAD && !claim(&relay))) {
    sandbox_give_up(&relay);
    return 1;
  }
  fcntl(ENGINE, F_SETFL, O_NONBLOCK);
  engine_join(&relay, ENGINE);
  relay_run(&relay);
  sandbox_end(&relay, &launched);
  return 0;
}
