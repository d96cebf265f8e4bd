#ifndef HEARTH_PROCESS_TREE_H
#define HEARTH_PROCESS_TREE_H
#include <sys/types.h>

// Signals everything below root, not root itself; zombies are left out. Returns how many it reached.
int process_tree_signal(pid_t root, int signal);
// The same for the children of root that `spared` does not name.
int process_tree_signal_except(pid_t root, int signal, int (*spared)(pid_t child));
#endif
