// The argument vector and the environment of a new process.
#ifndef HEARTH_COMMAND_H
#define HEARTH_COMMAND_H
#include "messages.gen.h"
#include "users.h"

struct command {
  char **argv;
  char **environment;
  const char *path;  // value of PATH
  char *text;        // all strings
};

// 0, EINVAL (no argv, a zero byte inside, a variable without =) or ENOMEM.
int command_build(struct command *command, const struct message_spawn *message, const struct user *user);
void command_release(struct command *command);
#endif
