// The way out of the sandbox: names are the only one. See the section on names in protocol.md.
#ifndef HEARTH_NETWORK_NETWORK_H
#define HEARTH_NETWORK_NETWORK_H

// Nobody is there who could say what may be reached: questions fail until the next Network. Names stay known.
void network_suspend(void);
void network_close(void);
#endif
