#define _GNU_SOURCE
#include "relay.h"
#include "accept.h"
#include "lane.h"
#include "signals.h"
#include "text-file.h"
#include "traffic.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A runtime that does not end within this time after its guest closed the stream is ended.
#define CLOSED_GRACE_MILLISECONDS 10000
// An engine that takes nothing for this long does not hold up the end of a sandbox.
#define DRAIN_MILLISECONDS 2000
// After this long without traffic the memory of the buffers is given back.
#define IDLE_MILLISECONDS 300
// How often a keeper without an engine looks at the deadline, and whether an engine could still come.
#define ALONE_MILLISECONDS 5000
// How often a keeper with an engine looks whether it has gone, while another one waits.
#define WAITING_MILLISECONDS 50
#define POLL_COUNT 6
#define KEPT_BYTES (16u * 1024u)

int64_t relay_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool relay_open(struct relay *relay) {
  uint8_t *rings = mmap(NULL, 2 * PUMP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (rings == MAP_FAILED) return false;
  relay->to_guest.ring = rings;
  relay->to_engine.ring = rings + PUMP_BYTES;
  return true;
}

static void give_back_memory(struct relay *relay) {
  struct pump *pumps[] = {&relay->to_guest, &relay->to_engine};
  for (int i = 0; i < 2; i++)
    if (pumps[i]->tail == 0) madvise(pumps[i]->ring + KEPT_BYTES, PUMP_BYTES - KEPT_BYTES, MADV_DONTNEED);
}

bool relay_reap(struct relay *relay) {
  for (;;) {
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid == 0) return true;
    if (pid < 0) return errno != ECHILD;
    if (pid != relay->runtime || relay->runtime_ended) continue;
    relay->runtime_ended = true;
    relay->status = status;
  }
}

// A dead engine's connection may outlive it for a moment, in a process that it was just starting. So the next one is kept waiting, not
// sent away: to an engine that takes up a sandbox, a closed connection means that the sandbox has ended.
static void accept_engine(struct relay *relay) {
  engine_leave_if_gone(relay);
  relay->someone_waits = relay->engine >= 0;
  if (relay->someone_waits) return;
  int engine = accept_own(relay->listener);
  if (engine >= 0) engine_join(relay, engine);
}

static void watch(struct pollfd *poll, int fd, short events) {
  // Without events a hung-up descriptor would still report itself, again and again.
  *poll = (struct pollfd){events ? fd : -1, events, 0};
}

static int wait_for_events(struct relay *relay, struct pollfd polls[POLL_COUNT], bool busy) {
  short engine = pump_has_space(&relay->to_guest) ? POLLIN : 0;
  short guest = pump_has_space(&relay->to_engine) ? POLLIN : 0;
  if (pump_has_ready(&relay->to_engine) && !relay->engine_deaf) engine |= POLLOUT;
  if (pump_has_ready(&relay->to_guest) || relay->lane >= 0) guest |= POLLOUT;
  watch(&polls[0], relay->signals, POLLIN);
  watch(&polls[1], relay->errors, POLLIN);
  watch(&polls[2], relay->engine, engine);
  watch(&polls[3], relay->guest, guest);
  watch(&polls[4], relay->listener, relay->someone_waits ? 0 : POLLIN);
  watch(&polls[5], relay->lane_listener, POLLIN);
  int patience = relay->engine < 0 ? ALONE_MILLISECONDS : -1;
  if (relay->someone_waits) return poll(polls, POLL_COUNT, WAITING_MILLISECONDS);
  int timeout = relay->guest < 0 ? 1000 : busy ? IDLE_MILLISECONDS : patience;
  return poll(polls, POLL_COUNT, timeout);
}

// The engine keeps the deadline and writes it down; its file is read here, so that renewing needs no message.
static bool is_expired(void) {
  char text[32];
  struct timespec now;
  if (text_file_get("deadline", text, sizeof text) <= 0) return false;
  clock_gettime(CLOCK_REALTIME, &now);
  return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000 > strtoll(text, NULL, 10);
}

// Nobody looks after a sandbox without an engine but its keeper: is it to end?
static enum relay_reason look_after(struct relay *relay) {
  if (relay->engine >= 0 || relay_now() - relay->looked_at < ALONE_MILLISECONDS) return RELAY_GOES_ON;
  relay->looked_at = relay_now();
  // Without a name in the file system nobody will ever find it again.
  if (access("link.sock", F_OK) != 0 && errno == ENOENT) return RELAY_ABANDONED;
  return is_expired() ? RELAY_EXPIRED : RELAY_GOES_ON;
}

static void take_errors(struct relay *relay) {
  if (runtime_log_take(&relay->log, relay->errors)) return;
  close(relay->errors);
  relay->errors = -1;
}

static void end_with(struct relay *relay, enum relay_reason reason) {
  if (relay->reason == RELAY_GOES_ON) relay->reason = reason;
}

void relay_run(struct relay *relay) {
  struct pollfd polls[POLL_COUNT];
  bool busy = true;
  relay_reap(relay);
  if (relay->runtime_ended) end_with(relay, RELAY_EXITED);
  while (relay->reason == RELAY_GOES_ON) {
    int events = wait_for_events(relay, polls, busy);
    if (events == 0 && busy) give_back_memory(relay);
    busy = events != 0;
    if (relay->guest < 0 && relay_now() - relay->closed_at > CLOSED_GRACE_MILLISECONDS) end_with(relay, RELAY_CLOSED);
    end_with(relay, look_after(relay));
    if (events <= 0) {
      if (relay->someone_waits) accept_engine(relay);
      continue;
    }
    if (polls[0].revents) {
      if (keeper_signals_take(relay->signals)) end_with(relay, RELAY_TOLD);
      relay_reap(relay);
      if (relay->runtime_ended) end_with(relay, RELAY_EXITED);
    }
    if (polls[1].revents) take_errors(relay);
    if (polls[2].revents & (POLLIN | POLLHUP | POLLERR)) end_with(relay, take_from_engine(relay));
    if (polls[3].revents & (POLLIN | POLLHUP | POLLERR)) end_with(relay, take_from_guest(relay));
    if (polls[2].revents || polls[3].revents) {
      give_to_guest(relay);
      give_to_engine(relay);
    }
    if (polls[5].revents) lane_accept(relay);
    lane_give(relay);
    if (polls[4].revents || relay->someone_waits) accept_engine(relay);
  }
}

void relay_drain(struct relay *relay) {
  while (relay->errors >= 0 && poll(&(struct pollfd){relay->errors, POLLIN, 0}, 1, 0) > 0) take_errors(relay);
  // An engine that told us to end, or whose guest broke the rules, gets what it takes at once.
  int patience = relay->reason == RELAY_EXITED || relay->reason == RELAY_CLOSED ? DRAIN_MILLISECONDS : 0;
  bool more = relay->reason != RELAY_VIOLATION;
  while (relay->engine >= 0 && !relay->engine_deaf) {
    // What follows a broken frame is never read.
    if (more) more = guest_has_more(relay) && take_from_guest(relay) == RELAY_GOES_ON;
    give_to_engine(relay);
    if (!pump_has_ready(&relay->to_engine) && !more) return;
    if (pump_has_ready(&relay->to_engine) && poll(&(struct pollfd){relay->engine, POLLOUT, 0}, 1, patience) <= 0) return;
  }
}
