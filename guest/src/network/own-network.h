// Network namespaces, for which the guest has capabilities that nothing it executes gets.
#ifndef HEARTH_NETWORK_OWN_NETWORK_H
#define HEARTH_NETWORK_OWN_NETWORK_H
#include <stdbool.h>

// Whether a command can have one here.
bool own_network_is_possible(void);
// A descriptor of a new one, whose loopback is up; or a negative errno.
int own_network_create(void);
// From one to the other: whatever this process makes or starts from now on is in it. 0 or an errno.
int own_network_enter(int network);
// Back to that of the machine. A guest that cannot come back ends: nothing may be mistaken for another's.
void own_network_leave(void);
#endif
