// The stream of changes: one record each, little endian, then a record of kind 0 with how it ended. See protocol.md.
#ifndef HEARTH_CHANGES_RECORD_H
#define HEARTH_CHANGES_RECORD_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "buffered-output.h"

enum change { CHANGE_END = 0, CHANGE_ADDED = 1, CHANGE_CHANGED = 2, CHANGE_REMOVED = 3 };

struct record {
  enum change change;
  const struct stat *before, *after;  // NULL where there is none
  const char *path;
  const char *target;  // of a symlink, or NULL
  bool content;        // `after` promises its size in bytes, which follow
};

// Each 0 or an errno.
int record_write(struct buffered_output *writer, const struct record *record);
int record_end(struct buffered_output *writer, uint32_t error, const char *what, uint64_t records);

// As in Entry: 1 file, 2 directory, 3 symlink, 4 fifo, 5 socket, 6 device.
uint8_t file_type_number(mode_t mode);
#endif
