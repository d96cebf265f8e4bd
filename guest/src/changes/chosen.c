#include "changes/chosen.h"

#include <errno.h>
#include <string.h>

#define CHOSEN_LIMIT 1000000u

int chosen_parse(struct selection *chosen, const char *bytes, size_t length) {
  int error = 0;
  chosen->limit = CHOSEN_LIMIT;
  while (length && !error) {
    const char *end = memchr(bytes, 0, length);
    if (!end || (*bytes != '+' && *bytes != '=')) return EINVAL;
    size_t size = (size_t)(end - bytes) - 1;
    error = selection_add(chosen, bytes + 1, size, *bytes == '+');
    length -= size + 2;
    bytes = end + 1;
  }
  selection_sort(chosen);
  return error;
}
