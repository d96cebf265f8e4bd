// Stat and Read.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "answer.h"
#include "channel.h"
#include "entry.h"
#include "link.h"
#include "loop.h"
#include "paths.h"
#include "requests.h"

#define DO_NOT_FOLLOW 1u

void serve_stat(uint32_t channel, const struct message_stat *message) {
  char path[PATH_BYTES];
  struct stat status;
  int error = path_copy(message->path, path);
  if (error) return answer_failed(channel, error, "path");
  bool follow = !(message->flags & DO_NOT_FOLLOW);
  if (fstatat(AT_FDCWD, path, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) return answer_failed(channel, errno, "%s", path);
  write_entry(link_output(), channel, message->path, &status, AT_FDCWD, path);
}

struct reading {
  struct channel channel;
  int descriptor;
  uint64_t offset, left, total;
};

static enum produced produce(struct channel *channel, struct buffer *out) {
  struct reading *reading = OWNER(channel, struct reading, channel);
  uint32_t wanted = channel_turn_bytes(channel);
  if (wanted > reading->left) wanted = (uint32_t)reading->left;
  if (wanted == 0 && reading->left) return PRODUCED_NOTHING;
  ssize_t count = 0;
  if (wanted) {
    size_t frame = wire_begin(out, MESSAGE_DATA, channel->id);
    if (!buffer_reserve(out, wanted)) return PRODUCED_NOTHING;
    count = pread(reading->descriptor, out->bytes + out->length, wanted, (off_t)reading->offset);
    if (count <= 0) out->length = frame;
    else out->length += (size_t)count, wire_end(out, frame);
  }
  if (count < 0) {
    if (errno == EINTR) return PRODUCED_MORE;
    write_failed(out, channel->id, errno, "read");
    return PRODUCED_END;
  }
  reading->offset += (uint64_t)count;
  reading->left -= (uint64_t)count;
  reading->total += (uint64_t)count;
  channel->send_credit -= (uint64_t)count;
  if (count > 0 && reading->left) return PRODUCED_MORE;
  encode_done(out, channel->id, &(struct message_done){reading->total});
  return PRODUCED_END;
}

static void destroy(struct channel *channel) {
  struct reading *reading = OWNER(channel, struct reading, channel);
  close(reading->descriptor);
  free(reading);
}

// Never waits: a fifo or a device is opened without blocking and then refused.
static int open_regular(const char *path, struct stat *status, int *error) {
  int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  *error = descriptor < 0 ? errno : 0;
  if (descriptor < 0) return -1;
  if (fstat(descriptor, status) == 0 && S_ISREG(status->st_mode)) return descriptor;
  *error = S_ISDIR(status->st_mode) ? EISDIR : EINVAL;
  close(descriptor);
  return -1;
}

void serve_read(uint32_t channel, const struct message_read *message) {
  static const struct channel_kind kind = {.produce = produce, .destroy = destroy};
  char path[PATH_BYTES];
  struct stat status;
  int error = path_copy(message->path, path);
  if (error) return answer_failed(channel, error, "path");
  if (message->offset > INT64_MAX) return answer_failed(channel, EINVAL, "offset");
  int descriptor = open_regular(path, &status, &error);
  if (descriptor < 0) return answer_failed(channel, error, "%s", path);
  struct reading *reading = calloc(1, sizeof *reading);
  if (!reading) {
    close(descriptor);
    return answer_failed(channel, ENOMEM, "%s", path);
  }
  *reading = (struct reading){.descriptor = descriptor, .offset = message->offset, .left = message->length};
  if (reading->left > INT64_MAX - reading->offset) reading->left = INT64_MAX - reading->offset;
  if (!channel_open(&reading->channel, channel, &kind)) return;
  write_entry(link_output(), channel, message->path, &status, AT_FDCWD, NULL);
  channel_ready(&reading->channel);
}
