#include "trace/seccheck.h"

#include <stddef.h>
#include <string.h>

#define HEADER_LEAST 8u
// pb.MessageType
#define TYPE_CLONE 2u
#define TYPE_EXECVE 3u
#define TYPE_EXIT_NOTIFY_PARENT 4u
// Wire types of protocol buffers.
#define VARINT 0u
#define FIXED64 1u
#define BYTES 2u
#define FIXED32 5u

struct input {
  const uint8_t *at, *end;
};

// A field of a message: a number, or bytes.
struct field {
  uint32_t number;
  uint64_t value;
  struct input bytes;
  bool whole;  // the packet had all of it
};

static bool read_varint(struct input *input, uint64_t *value) {
  *value = 0;
  for (unsigned shift = 0; shift < 64 && input->at < input->end; shift += 7) {
    uint8_t byte = *input->at++;
    *value |= (uint64_t)(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return true;
  }
  return false;
}

static bool skip(struct input *input, size_t length) {
  if ((size_t)(input->end - input->at) < length) return false;
  input->at += length;
  return true;
}

static bool read_bytes(struct input *input, struct field *field) {
  uint64_t length;
  if (!read_varint(input, &length)) return false;
  size_t left = (size_t)(input->end - input->at);
  field->whole = length <= left;
  field->bytes = (struct input){input->at, input->at + (field->whole ? (size_t)length : left)};
  input->at = field->bytes.end;
  return true;
}

// False at the end, and at what is no field.
static bool read_field(struct input *input, struct field *field) {
  uint64_t key;
  *field = (struct field){.whole = true};
  if (!read_varint(input, &key)) return false;
  field->number = (uint32_t)(key >> 3);
  switch (key & 7) {
    case VARINT:
      return read_varint(input, &field->value);
    case FIXED64:
      return skip(input, 8);
    case BYTES:
      return read_bytes(input, field);
    case FIXED32:
      return skip(input, 4);
    default:
      return false;
  }
}

static void read_context(struct input input, struct seccheck *message) {
  struct field field;
  while (read_field(&input, &field)) {
    if (field.number == 1) message->at = field.value;
    if (field.number == 4) message->pid = (uint32_t)field.value;
  }
}

static void add_argument(struct arguments *arguments, const struct field *field) {
  // A number.
  if (!field->bytes.at) return;
  size_t room = ARGUMENT_BYTES - arguments->length, length = (size_t)(field->bytes.end - field->bytes.at);
  if (!field->whole || length + 1 > room) arguments->cut = true;
  if (room == 0) return;
  if (length + 1 > room) length = room - 1;
  memcpy(arguments->bytes + arguments->length, field->bytes.at, length);
  arguments->bytes[arguments->length + length] = 0;
  arguments->length += length + 1;
}

static void take(struct seccheck *message, const struct field *field) {
  if (field->number == 1) return read_context(field->bytes, message);
  switch (message->kind) {
    case SECCHECK_CLONE:
      if (field->number == 3) message->created_thread = (uint32_t)field->value;
      if (field->number == 4) message->created = (uint32_t)field->value;
      return;
    case SECCHECK_EXECVE:
      // 3: each argument. What follows them, the environment, is not looked at.
      if (field->number == 3) add_argument(&message->arguments, field);
      return;
    case SECCHECK_EXIT:
      if (field->number == 2) message->status = (uint32_t)field->value;
      return;
    case SECCHECK_OTHER:
      return;
  }
}

static enum seccheck_kind kind_of(uint32_t type) {
  if (type == TYPE_CLONE) return SECCHECK_CLONE;
  if (type == TYPE_EXECVE) return SECCHECK_EXECVE;
  return type == TYPE_EXIT_NOTIFY_PARENT ? SECCHECK_EXIT : SECCHECK_OTHER;
}

bool seccheck_read(const uint8_t *bytes, size_t length, struct seccheck *message) {
  memset(message, 0, offsetof(struct seccheck, arguments.bytes));
  message->arguments.length = 0;
  message->arguments.cut = message->arguments.name_only = false;
  if (length < HEADER_LEAST) return false;
  size_t header = (size_t)bytes[0] | (size_t)bytes[1] << 8;
  if (header < HEADER_LEAST || header > length) return false;
  message->kind = kind_of((uint32_t)bytes[2] | (uint32_t)bytes[3] << 8);
  message->dropped = (uint32_t)bytes[4] | (uint32_t)bytes[5] << 8 | (uint32_t)bytes[6] << 16 | (uint32_t)bytes[7] << 24;
  struct input input = {bytes + header, bytes + length};
  struct field field;
  while (message->kind != SECCHECK_OTHER && read_field(&input, &field)) take(message, &field);
  return true;
}
