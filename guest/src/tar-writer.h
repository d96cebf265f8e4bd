// Entries of an archive that is being written.
#ifndef HEARTH_TAR_WRITER_H
#define HEARTH_TAR_WRITER_H
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "buffered-output.h"

// Zeros up to the next whole block after `length` bytes.
int tar_writer_pad(struct buffered_output *writer, uint64_t length);
// A header with the pax records it needs. link may be NULL.
int tar_writer_header(struct buffered_output *writer, char type, const char *name, const char *link, const struct stat *status, uint64_t size);
#endif
