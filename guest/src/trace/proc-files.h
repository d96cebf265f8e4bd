// What /proc shows of a process.
#ifndef HEARTH_TRACE_PROC_FILES_H
#define HEARTH_TRACE_PROC_FILES_H
#include "trace/report.h"

// With its name when it has none to show any more.
void proc_arguments(uint32_t pid, struct arguments *arguments);
// Follows all that run, parents before their children.
void proc_follow_all(void);
// Follows a process, and those that it comes from, as far as they are there.
struct traced *proc_follow(uint32_t pid);
#endif
