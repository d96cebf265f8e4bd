// Numbers under which the host holds files that have lost their names.
#ifndef HEARTH_VOLUMES_HELD_NUMBERS_H
#define HEARTH_VOLUMES_HELD_NUMBERS_H
#include <stdint.h>

// 0 when all are taken.
uint32_t held_number_take(void);
void held_number_free(uint32_t number);
#endif
