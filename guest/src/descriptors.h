#ifndef HEARTH_DESCRIPTORS_H
#define HEARTH_DESCRIPTORS_H
#include <sys/resource.h>

// Closes every descriptor from first on.
void close_from(unsigned int first);
// Numbers 0 to 2 must be taken: pipes of processes may never land there.
void descriptors_fill_standard(void);
// Lets the guest open as many as it may; what it had before is in original_open_files.
void descriptors_raise_limit(void);
extern rlim_t original_open_files;
#endif
