#define _GNU_SOURCE
#include "attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../answer.h"
#include "../machine/port.h"
#include "../messages.gen.h"
#include "../paths.h"
#include "../requests.h"
#include "fuse-abi.h"
#include "relay.h"
#include "volume-wire.h"

#define PORT "volumes"
#define DEVICE "/dev/fuse"
#define CHANGED 1u

struct attached {
  char place[PATH_BYTES];
  int device, top;
};

static struct attached attached[VOLUME_LIMIT];
static unsigned count;

static int mount_at(struct attached *volume, unsigned number, bool read_only) {
  char options[128];
  struct user root = {.uid = 0};
  int error = path_make_directories(volume->place, 0755, &root);
  if (error) return error;
  volume->device = open(DEVICE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (volume->device < 0) return errno;
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,default_permissions,allow_other,max_read=%u", volume->device, VOLUME_DATA_LIMIT);
  unsigned long flags = MS_NOSUID | MS_NODEV | (read_only ? MS_RDONLY : 0);
  if (mount("hearth", volume->place, "fuse", flags, options) != 0) return errno;
  if (!relay_pause()) return ETIMEDOUT;
  error = relay_add(volume->device, number, read_only);
  relay_resume();
  if (error) return error;
  volume->top = open(volume->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return volume->top < 0 ? errno : 0;
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

// The host has other files there than those that the kernel remembers.
static int take_other_files(unsigned number, bool all_other) {
  size_t ids;
  if (!relay_pause()) return ETIMEDOUT;
  uint64_t *known = relay_renumber(number, &ids);
  relay_resume();
  if (!known) return ENOMEM;
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

void serve_volumes(uint32_t channel, const struct message_volumes *message) {
  struct slice_list places = message->places;
  if (places.count > VOLUME_LIMIT) return answer_failed(channel, E2BIG, "volumes");
  int port = count ? 0 : port_open(PORT);
  int error = port < 0 ? errno : count ? 0 : relay_start(port);
  if (error) return answer_failed(channel, error, "the port of the volumes");
  for (unsigned i = 0; i < message->places.count; i++) {
    struct slice place = slice_list_next(&places);
    error = attach(i, place, message->read_only & (1u << i), message->flags & CHANGED);
    if (error) return answer_failed(channel, error, "volume at %.*s", (int)place.length, (const char *)place.bytes);
  }
  answer_done(channel, 0);
}

bool volumes_hold(void) {
  // What was written through memory is with the host too.
  for (unsigned i = 0; i < count; i++) syncfs(attached[i].top);
  return count == 0 || relay_pause();
}

void volumes_go_on(void) {
  if (count) relay_resume();
}
