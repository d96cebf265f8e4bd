// The argument vector and the environment of a new process.
#ifndef HEARTH_COMMAND_H
#define HEARTH_COMMAND_H
#include "messages.gen.h"
#include "users.h"

struct command {
  char **argv;  // with room for one more before it
  char **environment;
  const char *path;  // value of PATH
};

// How much memory command_build needs.
size_t command_size(const struct message_spawn *message);
// 0 or EINVAL (no argv, a zero byte inside, a variable without =).
int command_build(struct command *command, void *memory, const struct message_spawn *message, const struct user *user);
#endif
