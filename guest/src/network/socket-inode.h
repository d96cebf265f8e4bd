#ifndef HEARTH_NETWORK_SOCKET_INODE_H
#define HEARTH_NETWORK_SOCKET_INODE_H
#include <stdint.h>

// The inode of the socket that is connected from here to there, as the kernel lists it; 0 when it does not.
uint64_t socket_inode(uint32_t from, uint16_t from_port, uint32_t to, uint16_t to_port);
#endif
