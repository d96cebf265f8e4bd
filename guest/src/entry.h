#ifndef HEARTH_ENTRY_H
#define HEARTH_ENTRY_H
#include <sys/stat.h>

#include "wire.h"

// Writes an Entry; `file` is what is opened to read the target of a symlink, relative to `directory`.
void write_entry(struct buffer *out, uint32_t channel, struct slice path, const struct stat *status, int directory, const char *file);
#endif
