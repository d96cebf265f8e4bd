// The processes below this one. It is their reaper: those whose parent dies become its children.
#ifndef HEARTH_KEEPER_DESCENDANTS_H
#define HEARTH_KEEPER_DESCENDANTS_H
#include "freezing.h"

// Sends SIGKILL to every child of this process. Called again and again it reaches the whole tree.
void descendants_kill(void);

// All of them, parents before their children. False when memory ran out; what was found is in the list.
bool descendants_list(struct process_list *list);

// The same of another process.
bool descendants_list_of(int ancestor, struct process_list *list);

// The letter of /proc/PID/stat; X when it is gone.
char process_state(int pid);

// Whether a thread of it is traced and on its way to where its tracer wants it.
bool process_runs_for_tracer(int pid);

bool process_list_add(struct process_list *list, int pid);

#endif
