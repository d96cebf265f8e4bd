// Write: into a file beside the target that takes its name at the end, or appended to the target itself.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "answer.h"
#include "bulk-file.h"
#include "channel.h"
#include "entry.h"
#include "link.h"
#include "loop.h"
#include "paths.h"
#include "requests.h"
#include "temporary-name.h"

#define MAKE_PARENTS 1u
#define APPEND 2u
#define EXCLUSIVE 4u
#define DEFAULT_MODE 0644u

struct writing {
  struct channel channel;
  int descriptor;
  struct bulk_file bulk;
  bool exclusive;
  char path[PATH_BYTES];
  char temporary[PATH_BYTES];  // empty when appending
};

static struct writing *of(struct channel *channel) { return OWNER(channel, struct writing, channel); }

static void destroy(struct channel *channel) {
  struct writing *writing = of(channel);
  bulk_file_release(&writing->bulk);
  if (writing->descriptor >= 0) close(writing->descriptor);
  if (writing->temporary[0]) unlink(writing->temporary);
  free(writing);
}

static void fail(struct writing *writing, int error) {
  uint32_t id = writing->channel.id;
  answer_failed(id, error, "%s", writing->path);
  channel_end(&writing->channel);
}

static void data(struct channel *channel, struct slice bytes) {
  struct writing *writing = of(channel);
  int error = bulk_file_write(&writing->bulk, writing->descriptor, bytes);
  if (error) return fail(writing, error);
  channel_grant(channel, bytes.length);
}

static int put_in_place(struct writing *writing) {
  if (!writing->temporary[0]) return 0;
  if (!writing->exclusive) {
    if (rename(writing->temporary, writing->path) != 0) return errno;
    writing->temporary[0] = 0;
    return 0;
  }
  // A link fails when the name is taken, whoever took it and when.
  return link(writing->temporary, writing->path) == 0 ? 0 : errno;
}

static void eof(struct channel *channel) {
  struct writing *writing = of(channel);
  struct stat status;
  int error = bulk_file_finish(&writing->bulk, writing->descriptor);
  if (error) return fail(writing, error);
  if (fstat(writing->descriptor, &status) != 0) return fail(writing, errno);
  // Some file systems report a full disk only here.
  int descriptor = writing->descriptor;
  writing->descriptor = -1;
  if (close(descriptor) != 0 && errno != EINTR) return fail(writing, errno);
  error = put_in_place(writing);
  if (error) return fail(writing, error);
  write_entry(link_output(), channel->id, slice_of(writing->path), &status, AT_FDCWD, NULL);
  channel_end(channel);
}

static int open_append(struct writing *writing, const struct message_write *message, const struct user *user) {
  unsigned int mode = message->mode == UINT32_MAX ? DEFAULT_MODE : message->mode & 07777;
  int flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  // First without O_CREAT, to know whether the file is new and has to be given to the user.
  writing->descriptor = open(writing->path, flags);
  bool created = false;
  if (message->flags & EXCLUSIVE && writing->descriptor >= 0) return EEXIST;
  if (writing->descriptor < 0 && errno == ENOENT) {
    writing->descriptor = open(writing->path, flags | O_CREAT | O_EXCL, mode);
    created = true;
  }
  if (writing->descriptor < 0) return errno;
  struct stat status;
  if (fstat(writing->descriptor, &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  if (created || message->mode != UINT32_MAX) fchmod(writing->descriptor, mode);
  return created ? path_give(writing->descriptor, user) : 0;
}

// What a replaced file has is kept unless the request says otherwise.
static int open_replacement(struct writing *writing, const struct message_write *message, const struct user *user) {
  struct stat old;
  bool exists = stat(writing->path, &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) return EISDIR;
  if (exists && !S_ISREG(old.st_mode)) return EINVAL;
  if (exists && writing->exclusive) return EEXIST;
  char resolved[PATH_BYTES];
  // The target of a symlink is replaced, not the link.
  if (exists && realpath(writing->path, resolved)) snprintf(writing->path, sizeof writing->path, "%s", resolved);
  int error = temporary_name(writing->path, exists, writing->temporary);
  if (error) return error;
  writing->descriptor = open(writing->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (writing->descriptor < 0) {
    writing->temporary[0] = 0;
    return errno;
  }
  struct user owner = *user;
  if (exists && message->user.length == 0) owner.uid = old.st_uid, owner.gid = old.st_gid;
  error = path_give(writing->descriptor, &owner);
  unsigned int mode = message->mode != UINT32_MAX ? message->mode & 07777 : exists ? old.st_mode & 07777 : DEFAULT_MODE;
  if (!error && fchmod(writing->descriptor, mode) != 0) error = errno;
  return error;
}

static int prepare(struct writing *writing, const struct message_write *message) {
  struct user user;
  int error = users_find(message->user, &user);
  if (error) return error == ENOENT ? EINVAL : error;
  error = path_copy(message->path, writing->path);
  if (error) return error;
  if (writing->path[strlen(writing->path) - 1] == '/') return EISDIR;
  if (message->flags & MAKE_PARENTS) error = path_make_parents(writing->path, &user);
  if (error) return error;
  writing->exclusive = message->flags & EXCLUSIVE;
  return message->flags & APPEND ? open_append(writing, message, &user) : open_replacement(writing, message, &user);
}

void serve_write(uint32_t channel, const struct message_write *message) {
  static const struct channel_kind kind = {.data = data, .eof = eof, .destroy = destroy};
  struct writing *writing = malloc(sizeof *writing);
  if (!writing) return answer_failed(channel, ENOMEM, "write");
  writing->channel = (struct channel){0};
  // What is appended to may end within a block.
  writing->bulk = (struct bulk_file){.refused = message->flags & APPEND};
  writing->descriptor = -1;
  writing->path[0] = writing->temporary[0] = 0;
  int error = prepare(writing, message);
  if (error) {
    answer_failed(channel, error, "%s", writing->path);
    destroy(&writing->channel);
    return;
  }
  if (channel_open(&writing->channel, channel, &kind)) channel_grant(&writing->channel, RECEIVE_WINDOW);
}
