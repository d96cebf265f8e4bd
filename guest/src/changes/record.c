#include "changes/record.h"

#include <string.h>

uint8_t file_type_number(mode_t mode) {
  if (S_ISREG(mode)) return 1;
  if (S_ISDIR(mode)) return 2;
  if (S_ISLNK(mode)) return 3;
  if (S_ISFIFO(mode)) return 4;
  return S_ISSOCK(mode) ? 5 : 6;
}

static uint8_t *put(uint8_t *at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) *at++ = (uint8_t)(value >> (8 * i));
  return at;
}

static uint64_t nanoseconds(struct timespec time) { return (uint64_t)((int64_t)time.tv_sec * 1000000000 + time.tv_nsec); }

int record_write(struct buffered_output *writer, const struct record *record) {
  const struct stat *status = record->after ? record->after : record->before;
  size_t path = strlen(record->path), target = record->target ? strlen(record->target) : 0;
  uint8_t head[64], *at = head;
  at = put(at, record->change, 1);
  at = put(at, file_type_number(status->st_mode), 1);
  at = put(at, record->before ? file_type_number(record->before->st_mode) : 0, 1);
  at = put(at, record->content, 1);
  at = put(at, status->st_mode & 07777, 4);
  at = put(at, status->st_uid, 4);
  at = put(at, status->st_gid, 4);
  at = put(at, (uint64_t)status->st_size, 8);
  at = put(at, nanoseconds(status->st_mtim), 8);
  at = put(at, nanoseconds(status->st_ctim), 8);
  at = put(at, status->st_ino, 8);
  at = put(at, path, 2);
  at = put(at, target, 2);
  int error = buffered_bytes(writer, head, (size_t)(at - head));
  if (!error) error = buffered_bytes(writer, record->path, path);
  return error || !target ? error : buffered_bytes(writer, record->target, target);
}

int record_end(struct buffered_output *writer, uint32_t error, const char *what, uint64_t records) {
  size_t length = strlen(what);
  uint8_t head[16], *at = head;
  at = put(at, CHANGE_END, 1);
  at = put(at, 0, 1);
  at = put(at, error, 4);
  at = put(at, records, 8);
  at = put(at, length, 2);
  int failed = buffered_bytes(writer, head, (size_t)(at - head));
  if (!failed) failed = buffered_bytes(writer, what, length);
  return failed ? failed : buffered_flush(writer);
}
