#include "changes/operation.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "whole-io.h"

#define HEAD_BYTES 60
#define LONGEST 4095u

int64_t modified_nanoseconds(const struct stat *status) { return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec; }

static uint64_t number(const uint8_t *bytes, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

static int read_text(int input, uint64_t length, char **text) {
  if (length > LONGEST) return ENAMETOOLONG;
  *text = calloc(1, length + 1);
  if (!*text) return ENOMEM;
  int error = read_whole(input, *text, length);
  return !error && memchr(*text, 0, length) ? EINVAL : error;
}

static bool is_sound(const struct operation *operation) {
  if (operation->kind == OPERATION_COMMIT) return true;
  if (operation->kind != OPERATION_PLACE && operation->kind != OPERATION_REMOVE) return false;
  if (operation->path[0] == 0 || operation->expected_type > 6) return false;
  if (operation->kind == OPERATION_REMOVE) return operation->expected_type != TYPE_ABSENT;
  if (operation->type < TYPE_FILE || operation->type > TYPE_FIFO) return false;
  return (operation->type == TYPE_SYMLINK) == (operation->target[0] != 0);
}

int operation_read(int input, struct operation *operation) {
  uint8_t head[HEAD_BYTES];
  *operation = (struct operation){0};
  int error = read_whole(input, head, sizeof head);
  if (error) return error;
  operation->kind = head[0];
  operation->type = head[1];
  operation->expected_type = head[2];
  operation->mode = (uint32_t)number(head + 4, 4) & 07777;
  operation->uid = (uint32_t)number(head + 8, 4);
  operation->gid = (uint32_t)number(head + 12, 4);
  operation->size = number(head + 16, 8);
  operation->modified = (int64_t)number(head + 24, 8);
  operation->expected_size = number(head + 32, 8);
  for (int i = 0; i < 2; i++) operation->expected_modified[i] = (int64_t)number(head + 40 + 8 * i, 8);
  error = read_text(input, number(head + 56, 2), &operation->path);
  if (!error) error = read_text(input, number(head + 58, 2), &operation->target);
  if (!error && !is_sound(operation)) error = EBADMSG;
  if (error) operation_free(operation);
  return error;
}

void operation_free(struct operation *operation) {
  free(operation->path);
  free(operation->target);
  operation->path = operation->target = NULL;
}
