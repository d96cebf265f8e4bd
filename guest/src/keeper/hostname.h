// The name of the sandbox, given to it from outside: where the guest may not set it itself.
#ifndef HEARTH_KEEPER_HOSTNAME_H
#define HEARTH_KEEPER_HOSTNAME_H

// The file `hostname` says which. Whether it worked, the guest sees and tells.
void hostname_renew(void);

#endif
