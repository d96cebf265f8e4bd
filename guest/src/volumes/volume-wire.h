// What a machine asks of the host about the files of its volumes: a request of the kernel's file system in user space, with paths in the place
// of numbers, so that nothing has to be remembered on the host. See "Volumes of a microVM" in protocol.md.
#ifndef HEARTH_VOLUME_WIRE_H
#define HEARTH_VOLUME_WIRE_H
#include "fuse-abi.h"

#define VOLUME_LIMIT 4u
#define VOLUME_PATH_LIMIT 4095u
#define VOLUME_DATA_LIMIT (256u * 1024)  // of one read or write
#define VOLUME_ARGUMENTS_LIMIT (VOLUME_DATA_LIMIT + 4096)
#define VOLUME_REQUEST_LIMIT (sizeof(struct volume_request) + 2 * VOLUME_PATH_LIMIT + VOLUME_ARGUMENTS_LIMIT)
#define VOLUME_REPLY_LIMIT (VOLUME_DATA_LIMIT + 4096)
// Larger answers to reads do not come through the port but lie in a window, a disk of the machine that is a piece of the host's memory.
#define VOLUME_WINDOW_PARTS 8u
#define VOLUME_WINDOW_BYTES (VOLUME_WINDOW_PARTS * VOLUME_DATA_LIMIT)
#define VOLUME_WINDOW_LEAST 8192u
// In the place of an error: the body says how many bytes lie in the part.
#define VOLUME_IN_WINDOW 1
// Files that have lost their names and are in use still. Numbers begin at 1.
#define VOLUME_HELD_LIMIT 4096u
// Not the kernel's: lets go of held files, whose numbers are the arguments. Not answered.
#define VOLUME_DROP 0x1000u

// Followed by both paths, without leading or final slash, and by what the kernel's request has behind its header.
struct volume_request {
  uint32_t length;  // of all of it
  uint32_t opcode;
  uint64_t tag;  // comes back in `unique` of the reply, which is the kernel's but for its node numbers
  uint32_t uid, gid;
  uint32_t held;  // the subject is this file, whatever its path was; 0: it is the one at the path
  uint32_t hold;  // keep the file that loses its name under this number; 0: do not
  uint16_t volume, path_length, other_length;
  uint16_t part;  // of the window, for what is read: one more than its number; 0: none
};
#endif
