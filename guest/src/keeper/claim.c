#define _GNU_SOURCE
#include "claim.h"
#include "../messages.gen.h"
#include "launch.h"
#include "relay.h"
#include "root-swap.h"
#include "runtime.h"
#include "signals.h"
#include "steps.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// A runtime that has not come to its gate by then will not.
#define GATE_MILLISECONDS 20000

static bool check(const struct claim *claim, struct failure *failure) {
  const char *const paths[] = {claim->directory, claim->root, claim->gate};
  for (int i = 0; i < 3; i++)
    if (paths[i][0] != '/') return fail_with(failure, EINVAL, "KeeperClaim: an absolute path is expected");
  if (string_list_length(claim->writes) % 2 != 0) return fail_with(failure, EINVAL, "writes: pairs of a file and a text are expected");
  if (string_list_length(claim->binds) % 2 != 0) return fail_with(failure, EINVAL, "binds: pairs of paths are expected");
  for (size_t i = 0; claim->binds[i]; i++)
    if (claim->binds[i][0] != '/') return fail_with(failure, EINVAL, "binds: an absolute path is expected");
  return steps_check(claim->steps, true, failure);
}

bool claim_decode(struct slice payload, struct claim *claim, struct failure *failure) {
  struct message_keeper_claim message;
  if (!decode_keeper_claim(payload, &message)) return fail_with(failure, EPROTO, "KeeperClaim: malformed");
  *claim = (struct claim){
      .directory = text_of(message.directory),
      .writes = string_list_of(message.writes),
      .steps = string_list_of(message.steps),
      .server = text_of(message.server),
      .root = text_of(message.root),
      .binds = string_list_of(message.binds),
      .gate = text_of(message.gate),
  };
  if (!claim->directory || !claim->writes || !claim->steps || !claim->server || !claim->root || !claim->binds || !claim->gate)
    return fail_with(failure, EINVAL, "KeeperClaim: a zero byte in a string, or no memory");
  return check(claim, failure);
}

void claim_release(struct claim *claim) {
  free(claim->directory);
  free(claim->writes);
  free(claim->steps);
  free(claim->server);
  free(claim->root);
  free(claim->binds);
  free(claim->gate);
}

static int open_namespace(pid_t runtime, const char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)runtime, name);
  return open(path, O_RDONLY | O_CLOEXEC);
}

// Opens the FIFO when the runtime waits at its other end: all that it starts ahead of time is there then.
static int open_gate(const char *path, struct failure *failure) {
  int64_t deadline = relay_now() + GATE_MILLISECONDS;
  struct stat status;
  int gate;
  while ((gate = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)) < 0 && errno == ENXIO && relay_now() < deadline) poll(NULL, 0, 1);
  if (gate >= 0 && fstat(gate, &status) == 0 && S_ISFIFO(status.st_mode)) return gate;
  fail_with(failure, gate < 0 ? errno : EINVAL, "gate %s", path);
  return -1;
}

static bool follow(const struct claim *claim, pid_t runtime, struct failure *failure) {
  int users = open_namespace(runtime, "user"), mounts = open_namespace(runtime, "mnt");
  if (users < 0 || mounts < 0 || setns(mounts, CLONE_NEWNS) != 0) return fail_with(failure, errno, "claim: the runtime's namespaces");
  if (!steps_run(claim->steps, users, true, failure)) return false;
  int gate = open_gate(claim->gate, failure);
  struct root_swap swap = {runtime, claim->server, claim->root, claim->binds, users};
  if (gate < 0 || !root_swap(&swap, failure)) return false;
  return write(gate, "", 1) == 1 || fail_with(failure, errno, "gate");
}

bool claim_follow(const struct claim *claim, pid_t runtime, int signals, struct failure *failure) {
  int reports[2];
  pid_t keeper = getpid();
  if (pipe2(reports, O_CLOEXEC) != 0) return fail_with(failure, errno, "claim");
  pid_t pid = fork();
  if (pid == 0) {
    struct failure said = {0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(1);
    umask(022);
    follow(claim, runtime, &said);
    _exit(write(reports[1], &said, sizeof said) == (ssize_t)sizeof said ? 0 : 1);
  }
  int number = errno;
  close(reports[1]);
  bool done = pid < 0 ? fail_with(failure, number, "fork") : report_await(reports[0], signals, false, failure);
  close(reports[0]);
  if (pid > 0 && !done) kill(pid, SIGKILL);
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) continue;
  return done;
}
