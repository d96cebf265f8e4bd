// Who may connect to a keeper.
#ifndef HEARTH_KEEPER_ACCEPT_H
#define HEARTH_KEEPER_ACCEPT_H

// A connection of root or of the keeper's own user; -1 when there is none. Others are sent away.
int accept_own(int listener);

#endif
