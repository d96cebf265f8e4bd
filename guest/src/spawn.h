#ifndef HEARTH_SPAWN_H
#define HEARTH_SPAWN_H
#include <stdbool.h>

struct launch;

// Opens what every spawn needs; once, at the start.
bool spawn_open(bool own_kernel);
void spawn_close(void);
// The guest's copies of the ends that belong to the target, as soon as the target has its own or never will.
void spawn_close_ends(struct launch *launch);
#endif
