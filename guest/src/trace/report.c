#define _GNU_SOURCE
#include "trace/report.h"

#include <errno.h>
#include <unistd.h>

#include "loop.h"
#include "messages.gen.h"

// What may wait for a reader; what comes then is counted only.
#define WAITING_BYTES (256u * 1024u)

static struct buffer waiting;
static size_t passed;
static uint64_t missed;
static uint64_t tokens = REPORT_BURST * SECOND, refilled;

static bool has_room(void) { return !waiting.failed && waiting.length - passed < WAITING_BYTES; }

bool report_admits(void) {
  uint64_t now = monotonic_now();
  uint64_t elapsed = refilled && now > refilled ? now - refilled : 0;
  refilled = now;
  uint64_t most = REPORT_BURST * SECOND;
  tokens = elapsed > most / REPORT_RATE || tokens + elapsed * REPORT_RATE > most ? most : tokens + elapsed * REPORT_RATE;
  if (tokens >= SECOND && has_room()) {
    tokens -= SECOND;
    return true;
  }
  missed++;
  return false;
}

void report_missed(uint32_t count) { missed += count; }

static void tell_missed(void) {
  if (missed == 0 || !has_room()) return;
  uint32_t count = missed > UINT32_MAX ? UINT32_MAX : (uint32_t)missed;
  missed -= count;
  encode_missed(&waiting, 0, &(struct message_missed){count});
}

void report_begin(void) { encode_missed(&waiting, 0, &(struct message_missed){0}); }

static struct slice_list list_of(const struct arguments *arguments, uint8_t bytes[ARGUMENT_BYTES + 4 * ARGUMENT_LIMIT]) {
  struct slice_list list = {bytes, 0, 0};
  for (size_t at = 0; at < arguments->length && list.count < ARGUMENT_LIMIT; list.count++) {
    size_t length = strnlen(arguments->bytes + at, arguments->length - at);
    wire_store_u32(bytes + list.length, (uint32_t)length);
    memcpy(bytes + list.length + 4, arguments->bytes + at, length);
    list.length += 4 + (uint32_t)length;
    at += length + 1;
  }
  return list;
}

void report_executed(struct traced *traced, const struct arguments *arguments, uint64_t at) {
  uint8_t bytes[ARGUMENT_BYTES + 4 * ARGUMENT_LIMIT];
  uint32_t flags = (arguments->cut ? 1u : 0) | (arguments->name_only ? 2u : 0);
  if (!traced->since) traced->since = at;
  traced->told = true;
  tell_missed();
  encode_executed(&waiting, 0, &(struct message_executed){traced->pid, traced->parent, traced->root, flags, list_of(arguments, bytes)});
}

void report_ended(const struct traced *traced, uint32_t status, uint64_t at) {
  if (!traced->told) return;
  if (!has_room()) {
    missed++;
    return;
  }
  uint32_t signal = status & 0x7f;
  int32_t code = signal ? 0 : (int32_t)(status >> 8 & 0xff);
  uint64_t duration = at > traced->since ? (at - traced->since) / 1000 : 0;
  encode_ended(&waiting, 0, &(struct message_ended){traced->pid, traced->root, code, signal, duration});
}

bool report_waits(void) { return waiting.length > passed || missed; }

bool report_flush(int stream) {
  tell_missed();
  if (waiting.failed) return false;
  while (passed < waiting.length) {
    ssize_t count = write(stream, waiting.bytes + passed, waiting.length - passed);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    passed += (size_t)count;
  }
  waiting.length = passed = 0;
  return true;
}
