// One direction of the link: a ring of bytes that come in as they come and go out as whole frames.
// No descriptors in here, so that it can be fuzzed.
#ifndef HEARTH_KEEPER_PUMP_H
#define HEARTH_KEEPER_PUMP_H
#include "../wire.h"
#include <sys/uio.h>

// Holds a whole frame of any length, and half of another while the first goes out.
#define PUMP_BYTES (192u * 1024u)

// Frames of these types are between an engine and its keeper; nobody else sends them and they are never passed on.
#define KEEPER_TYPE_FIRST 240u

// Positions count from the last time the ring was empty: head <= ready <= tail, tail - head <= PUMP_BYTES.
struct pump {
  uint8_t *ring;
  uint64_t head;  // the next byte to go out
  uint64_t ready; // the end of the last whole frame: the first byte of a header
  uint64_t tail;  // where the next byte comes in
};

enum pump_verdict {
  PUMP_FINE,
  PUMP_BROKEN, // the header at `ready` cannot be one
  PUMP_KEEPER, // the header at `ready` is of the keeper's own types
};

// Where the next bytes may be put. The number of pieces, 0 when the ring is full.
int pump_space(const struct pump *pump, struct iovec pieces[2]);

// Says that so many bytes were put there, and looks for whole frames. Nothing beyond a bad or keeper's header becomes ready.
enum pump_verdict pump_filled(struct pump *pump, size_t count, struct frame_header *header);

// Takes a keeper's header out from behind the whole frames; what came after it moves up. Look again with pump_filled.
void pump_cut_header(struct pump *pump);

// What may go out. The number of pieces, 0 when there is no whole frame.
int pump_ready(const struct pump *pump, struct iovec pieces[2]);
void pump_sent(struct pump *pump, size_t count);

// Forgets whole frames, also one of which a part has gone out: its reader is gone.
void pump_drop_ready(struct pump *pump);

// Forgets what is behind the last whole frame: its writer is gone.
void pump_drop_partial(struct pump *pump);

static inline bool pump_has_space(const struct pump *pump) { return pump->tail - pump->head < PUMP_BYTES; }
static inline bool pump_has_ready(const struct pump *pump) { return pump->head < pump->ready; }

#endif
