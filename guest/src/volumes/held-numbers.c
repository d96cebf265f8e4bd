#include "held-numbers.h"

#include "volume-wire.h"

static uint8_t taken[VOLUME_HELD_LIMIT + 1];
static uint32_t last;

uint32_t held_number_take(void) {
  for (uint32_t i = 0; i < VOLUME_HELD_LIMIT; i++) {
    last = last % VOLUME_HELD_LIMIT + 1;
    if (taken[last]) continue;
    taken[last] = 1;
    return last;
  }
  return 0;
}

void held_number_free(uint32_t number) { taken[number] = 0; }
