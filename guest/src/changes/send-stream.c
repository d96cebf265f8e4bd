#include "changes/send-stream.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "whole-io.h"

#define MAGIC "btrfs-stream"
#define COMMAND_BYTES 131072u  // the kernel's own buffer is half of it
#define PATH_BYTES_LIMIT 4096u

// From fs/btrfs/send.h.
enum { COMMAND_SNAPSHOT = 2, COMMAND_MKFILE = 3, COMMAND_SYMLINK = 8, COMMAND_RENAME = 9, COMMAND_LINK = 10, COMMAND_END = 21 };
enum { ATTRIBUTE_PATH = 15, ATTRIBUTE_PATH_TO = 16 };

struct command {
  uint16_t type;
  uint32_t length;
  uint8_t bytes[COMMAND_BYTES];
};

static uint32_t number(const uint8_t *bytes, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; i++) value |= (uint32_t)bytes[i] << (8 * i);
  return value;
}

// Length and type, and a checksum that a pipe from the kernel does not need.
static int read_command(int input, struct command *command) {
  uint8_t head[10];
  int error = read_whole(input, head, sizeof head);
  if (error) return error;
  command->length = number(head, 4);
  command->type = (uint16_t)number(head + 4, 2);
  return command->length > COMMAND_BYTES ? EBADMSG : read_whole(input, command->bytes, command->length);
}

static int add_path(struct selection *touched, const char *prefix, const char *path, size_t length, bool deep) {
  if (length == 0 || length >= PATH_BYTES_LIMIT || memchr(path, 0, length)) return length == 0 ? 0 : EBADMSG;
  return selection_add_below(touched, prefix, path, length, deep);
}

// What was made or moved to a name may hold anything: then all below it is looked at.
static bool makes(uint16_t type) { return type >= COMMAND_MKFILE && type <= COMMAND_SYMLINK; }

static int take_command(const struct command *command, const char *prefix, struct selection *touched) {
  for (uint32_t at = 0; at < command->length;) {
    if (command->length - at < 4) return EBADMSG;
    uint32_t attribute = number(command->bytes + at, 2), length = number(command->bytes + at + 2, 2);
    at += 4;
    if (length > command->length - at) return EBADMSG;
    const char *path = (const char *)command->bytes + at;
    bool target = attribute == ATTRIBUTE_PATH_TO;
    bool deep = makes(command->type) || (target && command->type == COMMAND_RENAME) || (!target && command->type == COMMAND_LINK);
    if (target || attribute == ATTRIBUTE_PATH) {
      int error = add_path(touched, prefix, path, length, deep);
      if (error) return error;
    }
    at += length;
  }
  return 0;
}

int send_stream_read(int input, const char *prefix, struct selection *touched) {
  uint8_t head[17];
  int error = read_whole(input, head, sizeof head);
  if (!error && (memcmp(head, MAGIC, sizeof MAGIC) != 0 || number(head + 13, 4) != 1)) error = EBADMSG;
  struct command *command = error ? NULL : malloc(sizeof *command);
  if (!error && !command) error = ENOMEM;
  while (!error) {
    error = read_command(input, command);
    if (error || command->type == COMMAND_END) break;
    // Its path is the name of the subvolume.
    if (command->type > COMMAND_SNAPSHOT) error = take_command(command, prefix, touched);
  }
  free(command);
  return error;
}
