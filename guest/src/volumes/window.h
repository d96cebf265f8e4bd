// Where large answers to reads lie: a disk that is the host's memory, of which each part is one answer's at a time.
#ifndef HEARTH_VOLUMES_WINDOW_H
#define HEARTH_VOLUMES_WINDOW_H
#include <stdint.h>

// Looks for the disk; without it there are no parts.
void window_open(void);
// One more than the number of a part that nobody has; 0: there is none.
unsigned window_take(void);
void window_free(unsigned part);
// The bytes, with room before them for the header of an answer; NULL when they cannot be read.
uint8_t *window_read(unsigned part, uint32_t length);
#endif
