// Arbitrary bytes as a btrfs send stream, as the operations of a merge and as a list of chosen paths: the first byte says which.
#define _GNU_SOURCE
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "changes/chosen.h"
#include "changes/operation.h"
#include "changes/send-stream.h"

// A file in memory that holds the bytes: both readers take a descriptor.
static int input_of(const uint8_t *bytes, size_t length) {
  static int file = -1;
  if (file < 0) file = memfd_create("fuzz", MFD_CLOEXEC);
  if (ftruncate(file, 0) != 0 || pwrite(file, bytes, length, 0) != (ssize_t)length) return -1;
  lseek(file, 0, SEEK_SET);
  return file;
}

// Every name that the selection gives must be found in it again.
static void walk(const struct cursor *cursor, int depth) {
  size_t position = cursor->first, length;
  for (const char *name; depth < 8 && (name = cursor_name(cursor, &position, &length)); position++) {
    char copy[256];
    if (length > 255) continue;
    memcpy(copy, name, length);
    copy[length] = 0;
    struct cursor inside;
    if (cursor_enter(cursor, copy, &inside) == CHOSEN_NOT) __builtin_trap();
    if (inside.selection) walk(&inside, depth + 1);
  }
}

static void walk_selection(struct selection *selection) {
  selection_sort(selection);
  struct cursor cursor = cursor_start(selection);
  if (cursor.selection) walk(&cursor, 0);
  selection_free(selection);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  if (length == 0) return 0;
  struct selection selection = {.limit = 1000};
  if (bytes[0] % 3 == 0) {
    chosen_parse(&selection, (const char *)bytes + 1, length - 1);
    walk_selection(&selection);
    return 0;
  }
  int input = input_of(bytes + 1, length - 1);
  if (input < 0) return 0;
  if (bytes[0] % 3 == 1) {
    send_stream_read(input, "upper", &selection);
    walk_selection(&selection);
    return 0;
  }
  struct operation operation;
  while (operation_read(input, &operation) == 0) operation_free(&operation);
  return 0;
}
