#define _GNU_SOURCE
#include "traffic.h"
#include "../messages.gen.h"
#include "hostname.h"
#include "text-file.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ENGINE_BUFFER_BYTES (128 * 1024)

static bool is_passing(int number) { return number == EAGAIN || number == EINTR || number == ENOBUFS; }

void engine_join(struct relay *relay, int engine) {
  int bytes = ENGINE_BUFFER_BYTES;
  setsockopt(engine, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  relay->engine = engine;
  relay->engine_deaf = false;
}

static void engine_leave(struct relay *relay) {
  close(relay->engine);
  relay->engine = -1;
  relay->engine_deaf = false;
  // Its unfinished frame never reaches the guest; what the guest had for it is nobody else's.
  pump_drop_partial(&relay->to_guest);
  pump_drop_ready(&relay->to_engine);
}

// The file tells an engine, also a later one, that nothing runs. A guest could forge an answer on the link, but no file.
static void pause_sandbox(struct relay *relay) {
  char text[32];
  struct timespec now;
  if (relay->freezing.frozen || !freezing_begin(&relay->freezing)) return;
  clock_gettime(CLOCK_REALTIME, &now);
  int length = snprintf(text, sizeof text, "%lld\n", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
  if (!text_file_replace("paused", text, (size_t)length)) freezing_end(&relay->freezing);
}

static void resume_sandbox(struct relay *relay) {
  // What the engine said before is there when the guest wakes.
  give_to_guest(relay);
  unlink("paused");
  freezing_end(&relay->freezing);
}

// One of the keeper's own messages. False when it is none that is allowed here.
static bool obey(struct relay *relay, const struct frame_header *header) {
  if (header->length != 0) return false;
  if (header->type == MESSAGE_KEEPER_END) relay->told = true;
  else if (header->type == MESSAGE_KEEPER_PAUSE) pause_sandbox(relay);
  else if (header->type == MESSAGE_KEEPER_RESUME) resume_sandbox(relay);
  else if (header->type == MESSAGE_KEEPER_RENAME) hostname_renew();
  else return false;
  return true;
}

enum relay_reason take_from_engine(struct relay *relay) {
  struct iovec pieces[2];
  int count = pump_space(&relay->to_guest, pieces);
  if (count == 0 || relay->engine < 0) return RELAY_GOES_ON;
  ssize_t length = readv(relay->engine, pieces, count);
  if (length < 0 && is_passing(errno)) return RELAY_GOES_ON;
  if (length <= 0) {
    engine_leave(relay);
    return RELAY_GOES_ON;
  }
  struct frame_header header;
  enum pump_verdict verdict = pump_filled(&relay->to_guest, (size_t)length, &header);
  while (verdict == PUMP_KEEPER && obey(relay, &header)) {
    if (relay->told) return RELAY_TOLD;
    pump_cut_header(&relay->to_guest);
    verdict = pump_filled(&relay->to_guest, 0, &header);
  }
  // Anything else out of order is the engine's own fault; the sandbox waits for a better one.
  if (verdict != PUMP_FINE) engine_leave(relay);
  return RELAY_GOES_ON;
}

static void guest_leave(struct relay *relay) {
  close(relay->guest);
  relay->guest = -1;
  relay->closed_at = relay_now();
  pump_drop_ready(&relay->to_guest);
}

enum relay_reason take_from_guest(struct relay *relay) {
  struct iovec pieces[2];
  int count = pump_space(&relay->to_engine, pieces);
  if (count == 0 || relay->guest < 0) return RELAY_GOES_ON;
  ssize_t length = readv(relay->guest, pieces, count);
  if (length < 0 && is_passing(errno)) return RELAY_GOES_ON;
  if (length <= 0) {
    guest_leave(relay);
    return RELAY_GOES_ON;
  }
  struct frame_header header;
  enum pump_verdict verdict = pump_filled(&relay->to_engine, (size_t)length, &header);
  return verdict == PUMP_FINE ? RELAY_GOES_ON : RELAY_VIOLATION;
}

void give_to_engine(struct relay *relay) {
  struct iovec pieces[2];
  if (relay->engine < 0 || relay->engine_deaf) {
    pump_drop_ready(&relay->to_engine);
    return;
  }
  int count = pump_ready(&relay->to_engine, pieces);
  if (count == 0) return;
  ssize_t length = writev(relay->engine, pieces, count);
  if (length >= 0) pump_sent(&relay->to_engine, (size_t)length);
  else if (!is_passing(errno)) relay->engine_deaf = true;
}

void give_to_guest(struct relay *relay) {
  struct iovec pieces[2];
  int count = pump_ready(&relay->to_guest, pieces);
  if (count == 0) return;
  ssize_t length = relay->guest < 0 ? -1 : writev(relay->guest, pieces, count);
  if (length >= 0) pump_sent(&relay->to_guest, (size_t)length);
  // Its reading side is gone. That its writing side is too is seen there.
  else if (relay->guest < 0 || !is_passing(errno)) pump_drop_ready(&relay->to_guest);
}

void engine_leave_if_gone(struct relay *relay) {
  struct pollfd poll_engine = {relay->engine, POLLIN, 0};
  while (relay->engine >= 0 && poll(&poll_engine, 1, 0) > 0 && poll_engine.revents & POLLHUP) {
    if (!pump_has_space(&relay->to_guest)) engine_leave(relay);
    else if (take_from_engine(relay) != RELAY_GOES_ON) relay->reason = RELAY_TOLD;
    give_to_guest(relay);
  }
}

bool guest_has_more(const struct relay *relay) {
  return relay->guest >= 0 && poll(&(struct pollfd){relay->guest, POLLIN, 0}, 1, 0) > 0;
}
