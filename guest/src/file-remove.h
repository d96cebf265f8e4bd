#ifndef HEARTH_FILE_REMOVE_H
#define HEARTH_FILE_REMOVE_H

// Removes everything in a directory, without following a symlink, and closes the descriptor. 0 or an errno.
int remove_below(int directory);

#endif
