#include "entry.h"

#include <limits.h>
#include <unistd.h>

#include "loop.h"
#include "messages.gen.h"

static uint8_t type_of(mode_t mode) {
  if (S_ISREG(mode)) return 1;
  if (S_ISDIR(mode)) return 2;
  if (S_ISLNK(mode)) return 3;
  if (S_ISFIFO(mode)) return 4;
  if (S_ISSOCK(mode)) return 5;
  return 6;
}

void write_entry(struct buffer *out, uint32_t channel, struct slice path, const struct stat *status, int directory, const char *file) {
  char target[PATH_MAX];
  ssize_t length = S_ISLNK(status->st_mode) && file ? readlinkat(directory, file, target, sizeof target) : 0;
  int64_t seconds = status->st_mtim.tv_sec;
  struct message_entry entry = {
      .path = path,
      .type = type_of(status->st_mode),
      .mode = status->st_mode & 07777,
      .uid = status->st_uid,
      .gid = status->st_gid,
      .size = (uint64_t)status->st_size,
      .modified_nanoseconds = seconds < 0 ? 0 : (uint64_t)seconds * SECOND + (uint64_t)status->st_mtim.tv_nsec,
      .target = {(const uint8_t *)target, length > 0 ? (uint32_t)length : 0},
  };
  encode_entry(out, channel, &entry);
}
