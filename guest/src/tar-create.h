#ifndef HEARTH_TAR_CREATE_H
#define HEARTH_TAR_CREATE_H
#include <stdint.h>

// Writes an archive of a directory's content, or of one file, to a descriptor. 0 or an errno; `what` then names the file.
int tar_create(const char *path, int output, char *what, uint32_t what_size);
#endif
