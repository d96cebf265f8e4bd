// The kernel's own account of processes: NETLINK_CONNECTOR tells of each fork, exec and exit. Only for the root of a kernel of its own: it
// tells of all processes of that kernel.
#ifndef HEARTH_TRACE_CONNECTOR_H
#define HEARTH_TRACE_CONNECTOR_H
#include <stdbool.h>

// The descriptor, or -1 with errno. From then on everything is heard.
int connector_open(void);
// Takes what has come and reports it.
void connector_take(int connector);
#endif
