// The bytes of a file that is being written. In a machine of its own, those of a large one go past the page cache: the host has one too, and
// filling pages and writing them back costs an emulated processor several times what the transfer itself does.
#ifndef HEARTH_BULK_FILE_H
#define HEARTH_BULK_FILE_H
#include <stdbool.h>

#include "wire.h"

struct bulk_file {
  uint8_t *staged;  // NULL while the page cache is used
  uint32_t staged_length;
  uint64_t cached;  // bytes that went into the page cache
  bool refused;     // this file stays with the page cache
};

// From now on large files go past the page cache.
void bulk_file_bypass_cache(void);

// Both give an errno, or 0. The descriptor is at the end of the file, and nothing else moves it.
int bulk_file_write(struct bulk_file *file, int descriptor, struct slice bytes);
int bulk_file_finish(struct bulk_file *file, int descriptor);

void bulk_file_release(struct bulk_file *file);
#endif
