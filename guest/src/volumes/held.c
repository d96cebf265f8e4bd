#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "operations.h"

// Descriptors of files without a name, one more than the number that says so: 0 is none.
static int held[VOLUME_HELD_LIMIT + 1];
static unsigned count;

void hold_file(uint32_t number, int directory, const char *name) {
  if (number == 0 || number > VOLUME_HELD_LIMIT) return;
  struct stat status;
  // SAFETY: only what is a regular file is opened.
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) return;
  int descriptor = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (descriptor < 0) return;
  hold_release(number);
  held[number] = descriptor + 1;
  count++;
}

void hold_release(uint32_t number) {
  if (number == 0 || number > VOLUME_HELD_LIMIT || held[number] == 0) return;
  close(held[number] - 1);
  held[number] = 0;
  count--;
}

int hold_find(uint32_t number) { return number <= VOLUME_HELD_LIMIT ? held[number] - 1 : -1; }

unsigned serve_held_count(void) { return count; }
