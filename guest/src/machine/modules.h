#ifndef HEARTH_MODULES_H
#define HEARTH_MODULES_H
// Loads the modules that the file names, one path a line, in that order. One that is there already or fails is passed over:
// what is missing shows when it is needed.
void modules_load(const char *list);
#endif
