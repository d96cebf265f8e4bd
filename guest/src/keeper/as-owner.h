// Acting on files as whoever they belong to, with all capabilities: behind an id-mapped mount root itself is a stranger who can create nothing.
#ifndef HEARTH_KEEPER_AS_OWNER_H
#define HEARTH_KEEPER_AS_OWNER_H
#include <stdbool.h>
#include <sys/stat.h>

// Until as_owner_end. Nothing for who is not root, or where root is the owner. False with errno set.
bool as_owner_begin(const struct stat *status);
void as_owner_end(void);

#endif
