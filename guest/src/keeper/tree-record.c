#include "tree-record.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

bool stream_write(int descriptor, const void *bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    ssize_t count = write(descriptor, (const char *)bytes + done, length - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    done += (size_t)count;
  }
  return true;
}

bool stream_read(int descriptor, void *bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    ssize_t count = read(descriptor, (char *)bytes + done, length - done);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) errno = EPROTO;
    if (count <= 0) return false;
    done += (size_t)count;
  }
  return true;
}

static void put(uint8_t *at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t take(const uint8_t *at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
  return value;
}

bool tree_record_write(int descriptor, const struct record *record) {
  uint8_t head[RECORD_HEAD_BYTES] = {record->type, record->flags};
  size_t path = strlen(record->path), target = strlen(record->target);
  put(head + 2, path, 2);
  put(head + 4, target, 2);
  put(head + 8, record->attributes_length, 4);
  put(head + 12, record->mode, 4);
  put(head + 16, record->user, 4);
  put(head + 20, record->group, 4);
  put(head + 24, (uint64_t)record->seconds, 8);
  put(head + 32, record->nanoseconds, 4);
  put(head + 36, record->segment_count, 4);
  put(head + 40, record->size, 8);
  if (!stream_write(descriptor, head, sizeof head) || !stream_write(descriptor, record->path, path) ||
      !stream_write(descriptor, record->target, target) || !stream_write(descriptor, record->attributes, record->attributes_length))
    return false;
  for (uint32_t i = 0; i < record->segment_count; i++) {
    uint8_t bytes[16];
    put(bytes, record->segments[i].offset, 8);
    put(bytes + 8, record->segments[i].length, 8);
    if (!stream_write(descriptor, bytes, sizeof bytes)) return false;
  }
  return true;
}

// In order, apart, and within the file.
static bool segments_read(int descriptor, struct record *record) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < record->segment_count; i++) {
    uint8_t bytes[16];
    if (!stream_read(descriptor, bytes, sizeof bytes)) return false;
    struct segment segment = {take(bytes, 8), take(bytes + 8, 8)};
    errno = EPROTO;
    if (segment.offset < end || segment.offset > record->size || segment.length > record->size - segment.offset) return false;
    end = segment.offset + segment.length;
    record->segments[i] = segment;
  }
  return true;
}

static bool text_read(int descriptor, char *text, uint64_t length) {
  if (!stream_read(descriptor, text, length)) return false;
  text[length] = 0;
  errno = EPROTO;
  return strlen(text) == length;
}

bool tree_record_read(int descriptor, struct record *record) {
  uint8_t head[RECORD_HEAD_BYTES];
  if (!stream_read(descriptor, head, sizeof head)) return false;
  uint64_t path = take(head + 2, 2), target = take(head + 4, 2);
  record->type = head[0];
  record->flags = head[1];
  record->attributes_length = (uint32_t)take(head + 8, 4);
  record->mode = (uint32_t)take(head + 12, 4);
  record->user = (uint32_t)take(head + 16, 4);
  record->group = (uint32_t)take(head + 20, 4);
  record->seconds = (int64_t)take(head + 24, 8);
  record->nanoseconds = (uint32_t)take(head + 32, 4);
  record->segment_count = (uint32_t)take(head + 36, 4);
  record->size = take(head + 40, 8);
  errno = EPROTO;
  if (path >= PATH_MAX || target >= PATH_MAX || record->attributes_length > RECORD_ATTRIBUTES_BYTES || record->segment_count > RECORD_SEGMENTS ||
      record->size > INT64_MAX || record->nanoseconds > 999999999)
    return false;
  return text_read(descriptor, record->path, path) && text_read(descriptor, record->target, target) &&
         stream_read(descriptor, record->attributes, record->attributes_length) && segments_read(descriptor, record);
}
