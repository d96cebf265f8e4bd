#define _GNU_SOURCE
#include "ending.h"
#include "control.h"
#include "descendants.h"
#include "text-file.h"
#include "signals.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A process that cannot be killed in this time hangs in the kernel.
#define KILL_MILLISECONDS 10000
#define CLEANUP_MILLISECONDS 10000

static void await_signal(struct relay *relay, int64_t deadline) {
  int64_t left = deadline - relay_now();
  // Now and then also without one: an orphan comes to us without a signal.
  poll(&(struct pollfd){relay->signals, POLLIN, 0}, 1, left < 20 ? (int)(left > 0 ? left : 0) : 20);
  keeper_signals_take(relay->signals);
}

static void kill_everything(struct relay *relay) {
  int64_t deadline = relay_now() + KILL_MILLISECONDS;
  for (;;) {
    descendants_kill();
    if (!relay_reap(relay) || relay_now() >= deadline) return;
    // Killed ones hand their children to us: look at once when something was reaped, else wait for a signal.
    await_signal(relay, deadline);
  }
}

static _Noreturn void cleanup_child(const struct launch *launch) {
  int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; fd++) dup2(nothing, fd);
  keeper_signals_reset();
  execve(launch->cleanup[0], launch->cleanup, launch->environment);
  _exit(127);
}

static void run_cleanup(struct relay *relay, const struct launch *launch) {
  if (!launch->cleanup[0]) return;
  int64_t deadline = relay_now() + CLEANUP_MILLISECONDS;
  pid_t pid = fork();
  if (pid == 0) cleanup_child(launch);
  if (pid < 0) return;
  while (relay_now() < deadline) {
    pid_t ended = waitpid(pid, NULL, WNOHANG);
    if (ended == pid || (ended < 0 && errno == ECHILD)) break;
    await_signal(relay, deadline);
  }
  kill_everything(relay);
}

static const char *reason_text(enum relay_reason reason) {
  switch (reason) {
    case RELAY_TOLD: return "told";
    case RELAY_VIOLATION: return "violation";
    case RELAY_CLOSED: return "closed";
    case RELAY_ABANDONED: return "abandoned";
    case RELAY_EXPIRED: return "expired";
    default: return "exited";
  }
}

static void write_exit(const struct relay *relay, long oom_kills) {
  char code[16] = "null", signal_number[16] = "null", text[256];
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  long long ended_at = (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
  if (WIFEXITED(relay->status)) snprintf(code, sizeof code, "%d", WEXITSTATUS(relay->status));
  else snprintf(signal_number, sizeof signal_number, "%d", WTERMSIG(relay->status));
  int length = snprintf(text, sizeof text, "{\"exitCode\": %s, \"signal\": %s, \"endedAt\": %lld, \"reason\": \"%s\", \"oomKills\": %ld}\n", code,
                        signal_number, ended_at, reason_text(relay->reason), oom_kills);
  // There is nobody left to tell when this fails; an engine takes a missing file as an unknown end.
  text_file_replace("exit.json", text, (size_t)length);
}

void names_remove(void) {
  unlink("link.sock");
  unlink("lane.sock");
  unlink("keeper.pid");
  unlink("paused");
}

void sandbox_end(struct relay *relay, const struct launch *launch) {
  // The runtime's own end, if it had not come before ours.
  if (!relay->runtime_ended) relay->status = SIGKILL;
  kill_everything(relay);
  relay_drain(relay);
  runtime_log_close(&relay->log);
  run_cleanup(relay, launch);
  long oom_kills = cgroups_oom_kills(relay->cgroups);
  cgroups_remove(relay->cgroups);
  write_exit(relay, oom_kills);
  names_remove();
}

void sandbox_give_up(struct relay *relay) {
  kill_everything(relay);
  if (relay->cgroups) cgroups_remove(relay->cgroups);
}
