#include "pump.h"

static int pieces_between(const struct pump *pump, uint64_t from, uint64_t to, struct iovec pieces[2]) {
  if (from == to) return 0;
  size_t start = (size_t)(from % PUMP_BYTES);
  size_t length = (size_t)(to - from);
  size_t first = PUMP_BYTES - start < length ? PUMP_BYTES - start : length;
  pieces[0] = (struct iovec){pump->ring + start, first};
  pieces[1] = (struct iovec){pump->ring, length - first};
  return first < length ? 2 : 1;
}

static void rewind_if_empty(struct pump *pump) {
  // Small frames then use the same few pages again and again, and the rest of the ring need not be in memory.
  if (pump->head == pump->tail) pump->head = pump->ready = pump->tail = 0;
}

int pump_space(const struct pump *pump, struct iovec pieces[2]) {
  return pieces_between(pump, pump->tail, pump->head + PUMP_BYTES, pieces);
}

enum pump_verdict pump_filled(struct pump *pump, size_t count, struct frame_header *header) {
  pump->tail += count;
  while (pump->tail - pump->ready >= HEADER_BYTES) {
    uint8_t bytes[HEADER_BYTES];
    for (size_t i = 0; i < HEADER_BYTES; i++) bytes[i] = pump->ring[(pump->ready + i) % PUMP_BYTES];
    if (!wire_parse_header(bytes, header)) return PUMP_BROKEN;
    if (header->type >= KEEPER_TYPE_FIRST) return PUMP_KEEPER;
    if (pump->tail - pump->ready - HEADER_BYTES < header->length) return PUMP_FINE;
    pump->ready += HEADER_BYTES + header->length;
  }
  return PUMP_FINE;
}

void pump_cut_header(struct pump *pump) {
  for (uint64_t at = pump->ready; at + HEADER_BYTES < pump->tail; at++)
    pump->ring[at % PUMP_BYTES] = pump->ring[(at + HEADER_BYTES) % PUMP_BYTES];
  pump->tail -= HEADER_BYTES;
  rewind_if_empty(pump);
}

int pump_ready(const struct pump *pump, struct iovec pieces[2]) { return pieces_between(pump, pump->head, pump->ready, pieces); }

void pump_sent(struct pump *pump, size_t count) {
  pump->head += count;
  rewind_if_empty(pump);
}

void pump_drop_ready(struct pump *pump) {
  pump->head = pump->ready;
  rewind_if_empty(pump);
}

void pump_drop_partial(struct pump *pump) {
  pump->tail = pump->ready;
  rewind_if_empty(pump);
}
