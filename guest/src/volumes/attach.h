// The guest's end of the volumes of a microVM.
#ifndef HEARTH_VOLUMES_ATTACH_H
#define HEARTH_VOLUMES_ATTACH_H
#include <stdbool.h>

// Nothing is under way to the host until volumes_go_on. False when that could not be reached.
bool volumes_hold(void);
void volumes_go_on(void);
#endif
