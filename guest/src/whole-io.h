// Reads and writes that go on until everything is there. 0 or an errno.
#ifndef HEARTH_WHOLE_IO_H
#define HEARTH_WHOLE_IO_H
#include <stddef.h>

// EBADMSG when the input ends before.
int read_whole(int input, void *target, size_t length);
// ENOSPC when nothing more is taken.
int write_whole(int output, const void *bytes, size_t length);
#endif
