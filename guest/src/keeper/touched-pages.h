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

// The pages among these mappings that are no longer the file's. No run is longer than `longest`.
bool touched_pages_list(int pid, const struct page_runs *mappings, uint64_t longest, struct page_runs *touched, struct failure *failure);

#endif
