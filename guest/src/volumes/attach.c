#define _GNU_SOURCE
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../answer.h"
#include "../machine/port.h"
#include "../messages.gen.h"
#include "../paths.h"
#include "../requests.h"
#include "fuse-abi.h"
#include "fuse-mount.h"
#include "relay.h"
#include "volume-wire.h"
#include "window.h"

#define PORT "volumes"
#define CHANGED 1u
#define PREPARE 2u
#define LAST (VOLUME_LIMIT - 1)  // the place of one that is prepared
#define FORGETTING "/proc/sys/vm/drop_caches"

struct attached {
  char place[PATH_BYTES];
  int device;
};

static struct attached attached[VOLUME_LIMIT];
static unsigned count;
// One that is written to, and has been spoken to by the kernel: most machines with a volume have one such.
static struct fuse_mount prepared = {-1, -1};

static int make(unsigned number, bool read_only, struct fuse_mount *made) {
  int error = fuse_mount_make(read_only, made);
  if (error) return error;
  if (!relay_pause()) return ETIMEDOUT;
  error = relay_add(made->device, number, read_only);
  relay_resume();
  return error;
}

static int take_prepared(unsigned number, struct fuse_mount *made) {
  *made = prepared;
  prepared = (struct fuse_mount){-1, -1};
  if (number == LAST) return 0;
  if (!relay_pause()) return ETIMEDOUT;
  relay_move(LAST, number);
  relay_resume();
  return 0;
}

static int mount_at(struct attached *volume, unsigned number, bool read_only) {
  struct user root = {.uid = 0};
  struct fuse_mount made;
  bool is_prepared = prepared.device >= 0 && !read_only;
  int error = path_make_directories(volume->place, 0755, &root);
  if (!error) error = is_prepared ? take_prepared(number, &made) : make(number, read_only, &made);
  if (error) return error;
  volume->device = made.device;
  return fuse_mount_place(&made, volume->place);
}

static void notify(int device, int32_t what, const void *body, uint32_t length) {
  uint8_t bytes[64];
  struct fuse_out_header header = {(uint32_t)sizeof header + length, what, 0};
  memcpy(bytes, &header, sizeof header);
  memcpy(bytes + sizeof header, body, length);
  // One that the kernel does not have is none that it would have to forget.
  ssize_t ignored = write(device, bytes, header.len);
  (void)ignored;
}

// Also what the kernel knows not to be there.
static void forget_names(void) {
  int file = open(FORGETTING, O_WRONLY | O_CLOEXEC);
  ssize_t ignored = file < 0 ? 0 : write(file, "2", 1);
  (void)ignored;
  if (file >= 0) close(file);
}

// The host has other files there than those that the kernel remembers.
static int take_other_files(unsigned number, bool all_other) {
  size_t ids;
  if (!relay_pause()) return ETIMEDOUT;
  uint64_t *known = relay_renumber(number, &ids);
  relay_resume();
  if (!known) return ENOMEM;
  if (all_other) forget_names();
  for (size_t i = 0; all_other && i < ids; i++) {
    struct fuse_notify_inval_inode_out out = {known[i], 0, 0};
    notify(attached[number].device, FUSE_NOTIFY_INVAL_INODE, &out, sizeof out);
  }
  free(known);
  return 0;
}

static int attach(unsigned number, struct slice place, bool read_only, bool all_other) {
  char path[PATH_BYTES];
  int error = path_copy(place, path);
  if (error) return error;
  if (number < count) return strcmp(attached[number].place, path) == 0 ? take_other_files(number, all_other) : EBUSY;
  strcpy(attached[number].place, path);
  error = mount_at(&attached[number], number, read_only);
  if (!error) count++;
  return error;
}

static int open_relay(void) {
  if (relay_is_open()) return 0;
  int port = port_open(PORT);
  if (port < 0) return errno;
  window_open();
  return relay_start(port);
}

void serve_volumes(uint32_t channel, const struct message_volumes *message) {
  struct slice_list places = message->places;
  if (places.count > VOLUME_LIMIT) return answer_failed(channel, E2BIG, "volumes");
  int error = open_relay();
  if (!error && message->flags & PREPARE) error = make(LAST, false, &prepared);
  if (error) return answer_failed(channel, error, "the port of the volumes");
  for (unsigned i = 0; i < message->places.count; i++) {
    struct slice place = slice_list_next(&places);
    error = attach(i, place, message->read_only & (1u << i), message->flags & CHANGED);
    if (error) return answer_failed(channel, error, "volume at %.*s", (int)place.length, (const char *)place.bytes);
  }
  answer_done(channel, 0);
}

// What was written through memory is with the host too.
static void write_mapped(const char *place) {
  int top = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (top < 0) return;
  syncfs(top);
  close(top);
}

bool volumes_hold(void) {
  for (unsigned i = 0; i < count; i++) write_mapped(attached[i].place);
  return relay_pause();
}

void volumes_go_on(void) { relay_resume(); }
