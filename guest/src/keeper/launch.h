// KeeperLaunch as C strings, checked.
#ifndef HEARTH_KEEPER_LAUNCH_H
#define HEARTH_KEEPER_LAUNCH_H
#include "../messages.gen.h"
#include "failure.h"

enum launch_flag {
  LAUNCH_INSIDE_NAMESPACE = 1, // the runtime is executed as root of the user namespace
  LAUNCH_ROOTLESS = 2,         // the keeper is not root; the namespace maps root to the keeper's own user
  LAUNCH_NO_MEMBARRIER = 4,    // the runtime is executed without the system call membarrier
  LAUNCH_LANE = 16,            // the guest has the link itself as its standard input, and takes descriptors from there
  LAUNCH_AHEAD = 8,            // the runtime waits, and becomes a sandbox by KeeperClaim
};

// Each list ends with NULL.
struct launch {
  char *directory;
  char **argv;
  char **environment;
  char **steps;
  char **writes; // file, text, file, text
  char **files;  // descriptor number, path, and so on
  char **cleanup;
  uint32_t id_base;
  uint32_t id_count;
  uint32_t flags;
};

bool launch_decode(struct slice payload, struct launch *launch, struct failure *failure);
size_t string_list_length(char *const *list);

// NULL when memory ran out or it holds a zero byte.
char *text_of(struct slice slice);

// One allocation with the pointers and the text; NULL when memory ran out or a string holds a zero byte.
char **string_list_of(struct slice_list list);

// Releases all but environment and cleanup, which are needed at the end.
void launch_release(struct launch *launch);

#endif
