// Small whole-file reads and writes.
#ifndef HEARTH_KEEPER_TEXT_FILE_H
#define HEARTH_KEEPER_TEXT_FILE_H
#include <stdbool.h>
#include <stddef.h>

// Writes text into an existing file with one write, as the kernel's control files want it. False with errno set.
bool text_file_put(const char *path, const char *text, size_t length);

// Makes or replaces a file of the working directory at once: a reader sees the old content or the new. False with errno set.
bool text_file_replace(const char *name, const char *text, size_t length);

// Reads at most size-1 bytes and terminates them. The number of bytes, or -1 with errno set.
long text_file_get(const char *path, char *text, size_t size);

#endif
