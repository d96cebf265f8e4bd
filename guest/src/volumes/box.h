// What is left of the process that serves volumes: their files, and nothing else.
#ifndef HEARTH_VOLUMES_BOX_H
#define HEARTH_VOLUMES_BOX_H
#include <stdbool.h>

// SAFETY: for the case that a machine takes it over. Nothing of the host can be reached by a path but what lies below `directory`, no privilege
// is left but over the files of the sandbox's own users, and no system call but those on files. False: it must not go on.
bool box_enter(const char *directory);
#endif
