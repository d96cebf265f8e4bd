// Volumes of a machine: what its kernel asks about their files goes to the host, and the answers come back. In a thread of its own, so that the
// guest itself may use a file of a volume as every other process does.
#ifndef HEARTH_VOLUMES_RELAY_H
#define HEARTH_VOLUMES_RELAY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_node {
  uint64_t id;
};

// With the port to the host, which never blocks. 0 or an errno.
int relay_start(int port);
bool relay_is_open(void);
// From now on it serves what the kernel asks there. Only while it is paused.
int relay_add(int device, unsigned volume, bool read_only);
// One that is served already gets another number. Only while it is paused.
void relay_move(unsigned from, unsigned to);
// Resolves when nothing is under way: every answer is with the kernel, and no question with the host. False when that takes too long.
bool relay_pause(void);
void relay_resume(void);
// The files are those of a copy from now on. Only while it is paused. The numbers of all nodes, to be freed; NULL: no memory.
uint64_t *relay_renumber(unsigned volume, size_t *count);
#endif
