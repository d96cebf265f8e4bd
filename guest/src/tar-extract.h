// Unpacks an archive below a directory and nowhere else, whatever the archive says.
#ifndef HEARTH_TAR_EXTRACT_H
#define HEARTH_TAR_EXTRACT_H
#include <stdint.h>

#include "users.h"

// directory: where to; input: the archive. 0 or an errno; `what` then names the entry. *written: bytes of content.
int tar_extract(int directory, int input, const struct user *user, uint64_t *written, char *what, uint32_t what_size);
#endif
