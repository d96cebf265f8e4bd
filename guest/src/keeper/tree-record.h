// A tree as a stream of records between the engine and `store pack` and `store unpack`. Each is a head of 48 bytes, little endian, then the path
// below the tree, the target of a link, extended attributes, segments, and the bytes of the segments. packages/engine/src/store/archive/tree-record.ts
// is the other side.
#ifndef HEARTH_KEEPER_TREE_RECORD_H
#define HEARTH_KEEPER_TREE_RECORD_H
#include "failure.h"
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_HEAD_BYTES 48
#define RECORD_ATTRIBUTES_BYTES 65536
// A file with more pieces is taken as if the rest had no holes.
#define RECORD_SEGMENTS 65536

enum record_type {
  RECORD_DIRECTORY = 'd',
  RECORD_FILE = 'f',
  RECORD_SYMLINK = 'l',
  RECORD_HARD_LINK = 'h', // target: the path of the file that came before
  RECORD_WHITEOUT = 'w',
  RECORD_FIFO = 'p',
  RECORD_END = 'e',
};

enum record_flag { RECORD_OPAQUE = 1 };

struct segment {
  uint64_t offset, length;
};

struct record {
  uint8_t type, flags;
  uint32_t mode, user, group;
  int64_t seconds;
  uint32_t nanoseconds;
  uint64_t size;
  char path[PATH_MAX], target[PATH_MAX];
  // Of extended attributes: length of the name and of the value, 16 bits each, name, value; again and again.
  uint8_t attributes[RECORD_ATTRIBUTES_BYTES];
  uint32_t attributes_length;
  struct segment segments[RECORD_SEGMENTS];
  uint32_t segment_count;
};

// All but the bytes of the segments. False with errno set; EPROTO for what is not a record.
bool tree_record_write(int descriptor, const struct record *record);
bool tree_record_read(int descriptor, struct record *record);

bool stream_write(int descriptor, const void *bytes, size_t length);
bool stream_read(int descriptor, void *bytes, size_t length);

// Walks a tree, all but `work` at its top, which is an overlay's own, and writes it as records.
bool tree_pack(int root, int descriptor, struct failure *failure);

// Makes what the records say in an empty directory. SAFETY: whatever they say, nothing outside of it is touched and nothing is followed or replaced.
// owners: whether files may belong to others than the caller.
bool tree_unpack(int root, int descriptor, bool owners, struct failure *failure);

#endif
