// The processes below this one. It is their reaper: those whose parent dies become its children.
#ifndef HEARTH_KEEPER_DESCENDANTS_H
#define HEARTH_KEEPER_DESCENDANTS_H

// Sends SIGKILL to every child of this process. Called again and again it reaches the whole tree.
void descendants_kill(void);

#endif
