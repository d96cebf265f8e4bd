#define _GNU_SOURCE
#include "touched-pages.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
#define ENTRIES 8192u
#define PRESENT (UINT64_C(1) << 63)
#define SWAPPED (UINT64_C(1) << 62)
#define OF_FILE (UINT64_C(1) << 61)

static bool add_run(struct page_runs *runs, struct page_run run) {
  if (runs->count == runs->capacity) {
    size_t capacity = runs->capacity ? runs->capacity * 2 : 256;
    struct page_run *items = realloc(runs->items, capacity * sizeof *items);
    if (!items) return false;
    runs->items = items;
    runs->capacity = capacity;
  }
  runs->items[runs->count++] = run;
  runs->bytes += run.length;
  return true;
}

bool mapping_find(int pid, uint64_t inode, uint64_t bytes, struct page_runs *mappings, struct failure *failure) {
  char path[64], line[4400];
  uint64_t next = 0;
  snprintf(path, sizeof path, "/proc/%d/maps", pid);
  FILE *maps = fopen(path, "re");
  if (!maps) return fail_with(failure, errno, "%s", path);
  // In the order of addresses, which is that of the file where one mapping was split by its owner.
  while (fgets(line, sizeof line, maps)) {
    uint64_t start, end, offset, number;
    char access[8];
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64, &start, &end, access, &offset, &number) != 5) continue;
    if (number != inode || access[3] != 'p' || offset != next || end <= start || end - start > bytes - next) continue;
    if (!add_run(mappings, (struct page_run){offset, start, end - start})) break;
    next += end - start;
  }
  fclose(maps);
  return next == bytes || fail_with(failure, ESRCH, "memory: process %d does not have it mapped", pid);
}

static bool is_of_kind(uint64_t entry, enum page_kind kind) {
  if (kind == PAGES_READ) return (entry & PRESENT) && (entry & OF_FILE);
  return (entry & SWAPPED) || ((entry & PRESENT) && !(entry & OF_FILE));
}

static bool add_page(struct page_runs *pages, uint64_t offset, uint64_t address, uint64_t longest) {
  struct page_run *last = pages->count ? &pages->items[pages->count - 1] : NULL;
  if (!last || last->address + last->length != address || last->offset + last->length != offset || last->length >= longest)
    return add_run(pages, (struct page_run){offset, address, PAGE_BYTES});
  last->length += PAGE_BYTES;
  pages->bytes += PAGE_BYTES;
  return true;
}

static bool list_mapping(int pagemap, const struct page_run *mapping, enum page_kind kind, uint64_t longest, struct page_runs *found) {
  static uint64_t entries[ENTRIES];
  uint64_t pages = mapping->length / PAGE_BYTES;
  for (uint64_t page = 0; page < pages;) {
    uint64_t wanted = pages - page < ENTRIES ? pages - page : ENTRIES;
    uint64_t address = mapping->address + page * PAGE_BYTES;
    ssize_t count = pread(pagemap, entries, wanted * sizeof *entries, (off_t)(address / PAGE_BYTES * sizeof *entries));
    if (count == 0) errno = EIO;
    if (count <= 0) return false;
    uint64_t taken = (uint64_t)count / sizeof *entries;
    for (uint64_t i = 0; i < taken; i++)
      if (is_of_kind(entries[i], kind) && !add_page(found, mapping->offset + (page + i) * PAGE_BYTES, address + i * PAGE_BYTES, longest)) return false;
    page += taken;
  }
  return true;
}

bool pages_list(int pid, const struct page_runs *mappings, enum page_kind kind, uint64_t longest, struct page_runs *pages, struct failure *failure) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/pagemap", pid);
  int pagemap = open(path, O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) return fail_with(failure, errno, "%s", path);
  pages->count = 0;
  pages->bytes = 0;
  bool listed = true;
  for (size_t i = 0; listed && i < mappings->count; i++) listed = list_mapping(pagemap, &mappings->items[i], kind, longest, pages);
  if (!listed) fail_with(failure, errno, "%s", path);
  close(pagemap);
  return listed;
}
