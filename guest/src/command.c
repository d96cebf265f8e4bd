#include "command.h"

#include <errno.h>
#include <stdio.h>

#include "configure.h"

#define DEFAULT_PATH "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define FLAG_TERMINAL 1u
#define OWN_VARIABLES 8  // defaults and what follows from the user
#define OWN_BYTES 600    // of each, at the most

struct builder {
  struct command *command;
  char *at;
  size_t count;
};

static size_t key_length(const char *variable) { return (size_t)(strchr(variable, '=') - variable) + 1; }

// A later variable replaces an earlier one of the same name.
static void put(struct builder *builder, char *variable) {
  char **environment = builder->command->environment;
  size_t length = key_length(variable), i = 0;
  while (i < builder->count && strncmp(environment[i], variable, length) != 0) i++;
  environment[i] = variable;
  if (i == builder->count) builder->count++;
  if (length == 5 && memcmp(variable, "PATH=", 5) == 0) builder->command->path = variable + 5;
}

static char *copy(struct builder *builder, struct slice text) {
  char *start = builder->at;
  if (text.length) memcpy(start, text.bytes, text.length);
  start[text.length] = 0;
  builder->at += text.length + 1;
  return start;
}

static void put_pair(struct builder *builder, const char *key, const char *value) {
  char text[OWN_BYTES];
  snprintf(text, sizeof text, "%s=%s", key, value);
  put(builder, copy(builder, slice_of(text)));
}

static int put_list(struct builder *builder, struct slice_list list) {
  for (uint32_t i = 0, count = list.count; i < count; i++) {
    struct slice item = slice_list_next(&list);
    if (item.length == 0 || memchr(item.bytes, 0, item.length)) return EINVAL;
    const uint8_t *equals = memchr(item.bytes, '=', item.length);
    if (!equals || equals == item.bytes) return EINVAL;
    put(builder, copy(builder, item));
  }
  return 0;
}

static void put_user(struct builder *builder, const struct user *user) {
  put_pair(builder, "HOME", user->home);
  put_pair(builder, "SHELL", user->shell);
  if (!user->name[0]) return;
  put_pair(builder, "USER", user->name);
  put_pair(builder, "LOGNAME", user->name);
}

static int build_environment(struct builder *builder, const struct message_spawn *message, const struct user *user) {
  put(builder, copy(builder, slice_of(DEFAULT_PATH)));
  put(builder, copy(builder, slice_of("LANG=C.UTF-8")));
  if (message->flags & FLAG_TERMINAL) put(builder, copy(builder, slice_of("TERM=xterm-256color")));
  // The sandbox's own HOME stands for its own user; another user's command gets that user's.
  bool other_user = message->user.length > 0;
  if (!other_user) put_user(builder, user);
  int error = put_list(builder, configuration.environment);
  if (other_user) put_user(builder, user);
  if (!error) error = put_list(builder, message->environment);
  builder->command->environment[builder->count] = NULL;
  return error;
}

static int build_argv(struct builder *builder, struct slice_list list) {
  uint32_t count = list.count;
  if (count == 0) return EINVAL;
  for (uint32_t i = 0; i < count; i++) {
    struct slice item = slice_list_next(&list);
    if (item.length && memchr(item.bytes, 0, item.length)) return EINVAL;
    builder->command->argv[i] = copy(builder, item);
  }
  builder->command->argv[count] = NULL;
  return 0;
}

static size_t variables_of(const struct message_spawn *message) {
  return (size_t)configuration.environment.count + message->environment.count + OWN_VARIABLES;
}

// One pointer before argv, one at the end of each vector.
static size_t pointers_of(const struct message_spawn *message) { return message->argv.count + variables_of(message) + 3; }

size_t command_size(const struct message_spawn *message) {
  // Each string of a list has a length of four bytes in it, which leaves room for its terminator.
  size_t text = (size_t)configuration.environment.length + message->environment.length + message->argv.length + OWN_VARIABLES * OWN_BYTES;
  return pointers_of(message) * sizeof(char *) + text;
}

int command_build(struct command *command, void *memory, const struct message_spawn *message, const struct user *user) {
  char **pointers = memory;
  *command = (struct command){.argv = pointers + 1, .environment = pointers + message->argv.count + 2};
  struct builder builder = {command, (char *)(pointers + pointers_of(message)), 0};
  int error = build_argv(&builder, message->argv);
  return error ? error : build_environment(&builder, message, user);
}
