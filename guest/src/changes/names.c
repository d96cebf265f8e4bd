#define _GNU_SOURCE
#include "changes/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int add(struct names *names, const char *name, size_t length) {
  if (names->count == names->room) {
    size_t room = names->room ? names->room * 2 : 32;
    char **items = realloc(names->items, room * sizeof *items);
    if (!items) return ENOMEM;
    names->items = items;
    names->room = room;
  }
  char *copy = strndup(name, length);
  if (!copy) return ENOMEM;
  names->items[names->count++] = copy;
  return 0;
}

static int read_part(struct names *names, int directory, uint64_t limit) {
  // An open of its own: a duplicate would share its position.
  int descriptor = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = descriptor < 0 ? NULL : fdopendir(descriptor);
  int error = list ? 0 : errno;
  if (!list && descriptor >= 0) close(descriptor);
  while (!error) {
    errno = 0;
    struct dirent *item = readdir(list);
    if (!item) {
      error = errno;
      break;
    }
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
    error = names->count >= limit ? E2BIG : add(names, item->d_name, strlen(item->d_name));
  }
  if (list) closedir(list);
  return error;
}

int names_read(struct names *names, const struct merged *directory, int parts, uint64_t limit) {
  int error = 0;
  for (int i = 0; i < parts && !error; i++) error = read_part(names, directory->parts[i].directory, limit);
  return error;
}

int names_of(struct names *names, const struct cursor *cursor) {
  size_t position = cursor->first, length;
  for (const char *name; (name = cursor_name(cursor, &position, &length)); position++) {
    // A part of a path that no directory can hold is not there.
    if (length > 255 || (length <= 2 && memcmp(name, "..", length) == 0)) continue;
    int error = add(names, name, length);
    if (error) return error;
  }
  return 0;
}

static int compare(const void *one, const void *other) { return strcmp(*(char *const *)one, *(char *const *)other); }

void names_sort(struct names *names) {
  if (names->count == 0) return;
  qsort(names->items, names->count, sizeof *names->items, compare);
  size_t kept = 0;
  for (size_t i = 1; i < names->count; i++) {
    if (strcmp(names->items[kept], names->items[i]) == 0) free(names->items[i]);
    else names->items[++kept] = names->items[i];
  }
  names->count = kept + 1;
}

void names_free(struct names *names) {
  for (size_t i = 0; i < names->count; i++) free(names->items[i]);
  free(names->items);
}
