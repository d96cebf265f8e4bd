// libFuzzer target: the keeper's pump against a plain reading of the same bytes.
// Linked with src/keeper/pump.c.
// The first bytes of the input choose how much comes and goes at a time, the rest is what the one side sends.
#include "../src/keeper/pump.h"
#include <assert.h>
#include <stdint.h>

static uint8_t ring[PUMP_BYTES];
static uint8_t passed[1 << 20];

// How many bytes of the stream are whole frames before the first one that breaks a rule.
static size_t whole_frames(const uint8_t *bytes, size_t length, enum pump_verdict *verdict) {
  size_t at = 0;
  *verdict = PUMP_FINE;
  while (length - at >= HEADER_BYTES) {
    struct frame_header header;
    if (!wire_parse_header(bytes + at, &header)) *verdict = PUMP_BROKEN;
    else if (header.type >= KEEPER_TYPE_FIRST) *verdict = PUMP_KEEPER;
    if (*verdict != PUMP_FINE || length - at - HEADER_BYTES < header.length) break;
    at += HEADER_BYTES + header.length;
  }
  return at;
}

static size_t copy_in(struct pump *pump, const uint8_t *bytes, size_t limit) {
  struct iovec pieces[2];
  int count = pump_space(pump, pieces);
  size_t copied = 0;
  for (int i = 0; i < count; i++) {
    size_t part = pieces[i].iov_len < limit - copied ? pieces[i].iov_len : limit - copied;
    memcpy(pieces[i].iov_base, bytes + copied, part);
    copied += part;
  }
  return copied;
}

static size_t copy_out(struct pump *pump, uint8_t *out, size_t limit) {
  struct iovec pieces[2];
  int count = pump_ready(pump, pieces);
  size_t copied = 0;
  for (int i = 0; i < count; i++) {
    size_t part = pieces[i].iov_len < limit - copied ? pieces[i].iov_len : limit - copied;
    memcpy(out + copied, pieces[i].iov_base, part);
    copied += part;
  }
  pump_sent(pump, copied);
  return copied;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
  if (size < 8 || size > sizeof passed) return 0;
  const uint8_t *sizes = input, *bytes = input + 8;
  size_t length = size - 8, taken = 0, given = 0, turn = 0;
  enum pump_verdict expected, verdict = PUMP_FINE;
  size_t whole = whole_frames(bytes, length, &expected);
  struct pump pump = {.ring = ring};
  while (taken < length && verdict == PUMP_FINE) {
    struct frame_header header;
    size_t in = (size_t)(sizes[turn % 4] + 1) << (sizes[turn % 4] % 10);
    size_t copied = copy_in(&pump, bytes + taken, in < length - taken ? in : length - taken);
    assert(copied > 0 || pump_has_ready(&pump));
    verdict = pump_filled(&pump, copied, &header);
    taken += copied;
    assert(pump.head <= pump.ready && pump.ready <= pump.tail && pump.tail - pump.head <= PUMP_BYTES);
    given += copy_out(&pump, passed + given, (size_t)(sizes[4 + turn % 4] + 1) << (sizes[4 + turn % 4] % 10));
    turn++;
  }
  while (pump_has_ready(&pump)) given += copy_out(&pump, passed + given, PUMP_BYTES);
  assert(given == whole && memcmp(passed, bytes, given) == 0);
  if (taken == length) assert(verdict == expected);
  pump_drop_partial(&pump);
  assert(pump.head == 0 && pump.tail == 0);
  return 0;
}
