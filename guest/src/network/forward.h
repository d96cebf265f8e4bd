// Connections to the addresses of names: each is carried to the host on a channel of its own.
#ifndef HEARTH_NETWORK_FORWARD_H
#define HEARTH_NETWORK_FORWARD_H
#include <stdbool.h>
#include <stdint.h>

#define FORWARD_LIMIT 1024u  // at one time

// Takes one connection that waits at the listener, which is in the network of this command (0: of the machine).
void forward_accept(int listener, uint32_t scope, uint32_t address, uint16_t port);
// False: nobody is there who could take them, and they are refused.
void forward_serve(bool serving);
void forward_close(void);
#endif
