// One entry of a tree of the store: how its content and properties get from one place to another. All by descriptor, nothing follows a link.
#ifndef HEARTH_KEEPER_TREE_ENTRY_H
#define HEARTH_KEEPER_TREE_ENTRY_H
#include "failure.h"
#include <stdint.h>
#include <sys/stat.h>

// The owner of what has no owner among the ids of a sandbox.
#define TREE_NOBODY 65534u

// Ids on the source start at `base`: 65536 of them become 0 and so on. 0 leaves all ids as they are.
uint32_t tree_id(uint32_t id, uint32_t base);

// Owner, mode, times and the extended attributes that belong to a layer.
bool tree_copy_properties(int from, int to, const struct stat *status, uint32_t base);

// The directory hides what lies below it in lower layers.
bool tree_is_opaque(int directory);

// Removes a name and all below it, also subvolumes. One that is absent is fine. False with errno set.
bool tree_remove_at(int parent, const char *name);

// Bytes on disk of all files below a directory, which it closes. What cannot be read counts nothing.
uint64_t tree_bytes(int directory);

#endif
