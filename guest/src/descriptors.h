#ifndef HEARTH_DESCRIPTORS_H
#define HEARTH_DESCRIPTORS_H
// Closes every descriptor from first on.
void close_from(unsigned int first);
// Numbers 0 to 2 must be taken: pipes of processes may never land there.
void descriptors_fill_standard(void);
#endif
