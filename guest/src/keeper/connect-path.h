#ifndef HEARTH_KEEPER_CONNECT_PATH_H
#define HEARTH_KEEPER_CONNECT_PATH_H

// A connection to the stream socket with this name, however long it is; -1 with errno.
int connect_to_path(const char *path);
#endif
