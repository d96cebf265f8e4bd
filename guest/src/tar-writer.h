// Entries of an archive that is being written.
#ifndef HEARTH_TAR_WRITER_H
#define HEARTH_TAR_WRITER_H
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define TAR_BUFFER 65536u

struct tar_writer {
  int output;
  size_t length;
  uint8_t buffer[TAR_BUFFER];
};

int tar_writer_bytes(struct tar_writer *writer, const void *bytes, size_t length);
// Zeros up to the next whole block after `length` bytes.
int tar_writer_pad(struct tar_writer *writer, uint64_t length);
int tar_writer_flush(struct tar_writer *writer);
// A header with the pax records it needs. link may be NULL.
int tar_writer_header(struct tar_writer *writer, char type, const char *name, const char *link, const struct stat *status, uint64_t size);
#endif
