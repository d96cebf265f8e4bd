#define _GNU_SOURCE
#include "temporary-name.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "loop.h"

#define PREFIX ".hearth-write-"

int temporary_name(const char *path, bool replaces, char target[PATH_BYTES]) {
  const char *slash = strrchr(path, '/');
  int directory = slash ? (int)(slash - path) + 1 : 0;
  uint64_t number = monotonic_now();
  // Unguessable is not needed, since the file is opened exclusively; it must only be new.
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) number ^= monotonic_now() << 20;
  int length = snprintf(target, PATH_BYTES, "%.*s" PREFIX "%c%016llx", directory, path, replaces ? 'r' : 'n', (unsigned long long)number);
  if (length < PATH_BYTES) return 0;
  target[0] = 0;
  return ENAMETOOLONG;
}

enum temporary_kind temporary_kind(const char *name) {
  size_t prefix = sizeof PREFIX - 1;
  if (strncmp(name, PREFIX, prefix) != 0) return NOT_TEMPORARY;
  if (name[prefix] == 'n') return TEMPORARY_NEW;
  return name[prefix] == 'r' ? TEMPORARY_REPLACEMENT : NOT_TEMPORARY;
}
