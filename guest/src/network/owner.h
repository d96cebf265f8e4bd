// Which command a connection inside the sandbox belongs to.
#ifndef HEARTH_NETWORK_OWNER_H
#define HEARTH_NETWORK_OWNER_H
#include <stdint.h>

// The number of the command in whose tree somebody holds the connection from here (address and port) to there; 0 when that cannot be told,
// or only at too high a price.
uint32_t owner_of(uint32_t from, uint16_t from_port, uint32_t to, uint16_t to_port);
#endif
