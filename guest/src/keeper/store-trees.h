// Whole directories of the store: copied, also out of the namespaces of a sandbox, and removed.
#ifndef HEARTH_KEEPER_STORE_TREES_H
#define HEARTH_KEEPER_STORE_TREES_H
#include "failure.h"
#include <stdint.h>

// Lays the content of source over target, a directory that exists. With a process, source is what that process sees there: who is not root
// becomes root of its user namespace, which owns all that lies there. See tree_copy.
bool store_copy(int process, const char *source, const char *target, uint32_t base, struct failure *failure);

// Removes a path and all below it, also subvolumes; who is not root does it as root of a user namespace, since a sandbox may have taken
// permissions from its own directories. One that is absent is fine.
bool store_remove(const char *path, struct failure *failure);

// A directory as records on standard output, and back from standard input into an empty one. See tree-record.h.
bool store_pack(const char *path, struct failure *failure);
bool store_unpack(const char *path, struct failure *failure);

// Bytes on disk of all files below a directory, with the same privileges. 0 for one that is absent.
uint64_t store_bytes(const char *path);

#endif
