#ifndef HEARTH_PORT_H
#define HEARTH_PORT_H
// Opens the virtio port of that name; -1 and errno when it does not appear.
int port_open(const char *name);
#endif
