// List: walks a directory a few entries at a time, so that a large tree holds nobody up.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "answer.h"
#include "beneath.h"
#include "channel.h"
#include "entry.h"
#include "loop.h"
#include "messages.gen.h"
#include "paths.h"
#include "requests.h"

#define ENTRIES_PER_TURN 128
#define PENDING_LIMIT 65536u

// A directory that still has to be read. Deeper ones are read first, which keeps the list short.
struct pending {
  struct pending *next;
  uint32_t depth;
  char path[];
};

struct listing {
  struct channel channel;
  struct pending *pending;
  uint32_t pending_count, maximum_depth;
  DIR *directory;
  uint32_t depth;
  char path[PATH_BYTES];
  char held[256];  // name of an entry that waits for credit
};

static struct listing *of(struct channel *channel) { return OWNER(channel, struct listing, channel); }

static void destroy(struct channel *channel) {
  struct listing *listing = of(channel);
  if (listing->directory) closedir(listing->directory);
  for (struct pending *pending = listing->pending, *next; pending; pending = next) {
    next = pending->next;
    free(pending);
  }
  free(listing);
}

static bool add_pending(struct listing *listing, const char *path) {
  size_t length = strlen(path) + 1;
  struct pending *pending = listing->pending_count < PENDING_LIMIT ? malloc(sizeof *pending + length) : NULL;
  if (!pending) return false;
  memcpy(pending->path, path, length);
  pending->depth = listing->depth + 1;
  pending->next = listing->pending;
  listing->pending = pending;
  listing->pending_count++;
  return true;
}

static int open_directory(struct listing *listing, bool follow) {
  int descriptor = follow ? open(listing->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC) : open_directory_at(AT_FDCWD, listing->path);
  if (descriptor < 0) return errno;
  listing->directory = fdopendir(descriptor);
  if (listing->directory) return 0;
  close(descriptor);
  return ENOMEM;
}

// The next directory that can be read; what vanished or is closed to us is left out.
static bool next_directory(struct listing *listing) {
  while (!listing->directory && listing->pending) {
    struct pending *pending = listing->pending;
    listing->pending = pending->next;
    listing->pending_count--;
    listing->depth = pending->depth;
    snprintf(listing->path, sizeof listing->path, "%s", pending->path);
    free(pending);
    open_directory(listing, false);
  }
  return listing->directory != NULL;
}

static const char *next_name(struct listing *listing) {
  if (listing->held[0]) return listing->held;
  struct dirent *item;
  do item = readdir(listing->directory);
  while (item && (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0));
  return item ? item->d_name : NULL;
}

// 0, an errno, or -1 when there is not enough credit.
static int emit(struct listing *listing, const char *name, struct buffer *out) {
  struct stat status;
  char path[PATH_BYTES];
  const char *separator = strcmp(listing->path, "/") == 0 ? "" : "/";
  if (snprintf(path, sizeof path, "%s%s%s", listing->path, separator, name) >= (int)sizeof path) return 0;
  int directory = dirfd(listing->directory);
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return 0;  // it is gone
  size_t before = out->length;
  write_entry(out, listing->channel.id, slice_of(path), &status, directory, name);
  size_t payload = out->length - before - HEADER_BYTES;
  if (out->failed) return 0;
  if (payload > listing->channel.send_credit) {
    out->length = before;
    if (name != listing->held) snprintf(listing->held, sizeof listing->held, "%s", name);
    return -1;
  }
  listing->channel.send_credit -= payload;
  bool descend = S_ISDIR(status.st_mode) && listing->depth + 1 < listing->maximum_depth;
  return descend && !add_pending(listing, path) ? ENOMEM : 0;
}

static enum produced produce(struct channel *channel, struct buffer *out) {
  struct listing *listing = of(channel);
  for (int i = 0; i < ENTRIES_PER_TURN; i++) {
    if (!next_directory(listing)) {
      encode_done(out, channel->id, &(struct message_done){0});
      return PRODUCED_END;
    }
    const char *name = next_name(listing);
    if (!name) {
      closedir(listing->directory);
      listing->directory = NULL;
      continue;
    }
    int error = emit(listing, name, out);
    if (error < 0) return PRODUCED_NOTHING;
    listing->held[0] = 0;
    if (error == 0) continue;
    write_failed(out, channel->id, error, listing->path);
    return PRODUCED_END;
  }
  return PRODUCED_MORE;
}

void serve_list(uint32_t channel, const struct message_list *message) {
  static const struct channel_kind kind = {.produce = produce, .destroy = destroy};
  struct listing *listing = calloc(1, sizeof *listing);
  if (!listing) return answer_failed(channel, ENOMEM, "list");
  listing->maximum_depth = message->depth ? message->depth : 1;
  int error = path_copy(message->path, listing->path);
  for (size_t length = strlen(listing->path); length > 1 && listing->path[length - 1] == '/';) listing->path[--length] = 0;
  if (!error) error = open_directory(listing, true);
  if (error) {
    answer_failed(channel, error, "%s", listing->path);
    destroy(&listing->channel);
    return;
  }
  if (channel_open(&listing->channel, channel, &kind)) channel_ready(&listing->channel);
}
