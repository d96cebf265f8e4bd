// Which pages of a private file mapping of another process have become its own.
#ifndef HEARTH_KEEPER_TOUCHED_PAGES_H
#define HEARTH_KEEPER_TOUCHED_PAGES_H
#include "failure.h"
#include <stddef.h>
#include <stdint.h>

// A part of the file and where the process has it.
struct page_run {
  uint64_t offset;
  uint64_t address;
  uint64_t length;
};

struct page_runs {
  struct page_run *items;
  size_t count, capacity;
  uint64_t bytes;
};

// The private mappings of the file with this inode number. False unless they are the whole of it, each part once.
bool mapping_find(int pid, uint64_t inode, uint64_t bytes, struct page_runs *mappings, struct failure *failure);

enum page_kind {
  PAGES_TOUCHED, // no longer the file's
  PAGES_READ,    // the file's, and seen by the process
};

// The pages among these mappings that are of a kind. No run is longer than `longest`.
bool pages_list(int pid, const struct page_runs *mappings, enum page_kind kind, uint64_t longest, struct page_runs *pages, struct failure *failure);

#endif
