// Entries of an archive that is being read: long names and sizes already put together.
#ifndef HEARTH_TAR_READER_H
#define HEARTH_TAR_READER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_NAME_BYTES 4096

struct tar_entry {
  char type;
  uint32_t mode;
  uint64_t size, modified;  // seconds
  char name[TAR_NAME_BYTES], link[TAR_NAME_BYTES];
};

struct tar_reader {
  int input;
  bool at_end;
  size_t position, length;
  uint8_t buffer[65536];
};

// 1 an entry, 0 the end of the archive, or a negative errno.
int tar_reader_next(struct tar_reader *reader, struct tar_entry *entry);
// Bytes of content, as far as they are there; 0 at the end of the stream, negative errno.
int tar_reader_content(struct tar_reader *reader, const uint8_t **bytes, uint64_t limit);
// Skips content and the padding up to the next block.
int tar_reader_skip(struct tar_reader *reader, uint64_t bytes);
#endif
