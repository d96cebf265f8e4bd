#ifndef HEARTH_SPAWN_H
#define HEARTH_SPAWN_H
#include <stdbool.h>
// Opens what every spawn needs; once, at the start.
bool spawn_open(void);
void spawn_close(void);
#endif
