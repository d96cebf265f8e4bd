// Names of files that are being written, beside their target. Watches leave them out.
#ifndef HEARTH_TEMPORARY_NAME_H
#define HEARTH_TEMPORARY_NAME_H
#include <stdbool.h>

#include "paths.h"

enum temporary_kind { NOT_TEMPORARY, TEMPORARY_NEW, TEMPORARY_REPLACEMENT };

// A name that is not in use, in the directory of path. 0 or ENAMETOOLONG.
int temporary_name(const char *path, bool replaces, char target[PATH_BYTES]);
enum temporary_kind temporary_kind(const char *name);
#endif
