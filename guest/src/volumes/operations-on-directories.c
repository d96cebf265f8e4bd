#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "operations.h"

// What the kernel's system call writes.
struct kernel_entry {
  uint64_t inode;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

#define BATCH_BYTES 32768

struct listing {
  const struct volume_call *call;
  struct answer *answer;
  int directory;
  uint32_t room;
  bool plus;
};

static bool is_dots(const char *name) { return name[0] == '.' && (name[1] == 0 || (name[1] == '.' && name[2] == 0)); }

// False when there is no room for it.
static bool add(struct listing *listing, const struct kernel_entry *entry) {
  uint32_t named = (uint32_t)strlen(entry->name);
  uint32_t head = listing->plus ? sizeof(struct fuse_entry_out) : 0;
  uint32_t length = FUSE_ALIGN(head + (uint32_t)sizeof(struct fuse_dirent) + named);
  if (listing->answer->length + length > listing->room) return false;
  uint8_t *place = (uint8_t *)listing->answer->body + listing->answer->length;
  memset(place, 0, length);
  struct stat status;
  // Of a number 0 the kernel takes the name alone, and asks when it wants to know more.
  if (listing->plus && !is_dots(entry->name) && fstatat(listing->directory, entry->name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    entry_of(listing->call, &status, (struct fuse_entry_out *)place);
    ((struct fuse_entry_out *)place)->nodeid = 1;
  }
  struct fuse_dirent *dirent = (struct fuse_dirent *)(place + head);
  *dirent = (struct fuse_dirent){entry->inode, (uint64_t)entry->offset, named, entry->type};
  memcpy(dirent->name, entry->name, named);
  listing->answer->length += length;
  return true;
}

static int list(struct listing *listing) {
  _Alignas(8) static uint8_t batch[BATCH_BYTES];
  for (;;) {
    long count = syscall(SYS_getdents64, listing->directory, batch, sizeof batch);
    if (count < 0 && listing->answer->length == 0) return errno;
    if (count <= 0) return 0;
    for (long at = 0; at < count;) {
      const struct kernel_entry *entry = (const struct kernel_entry *)(batch + at);
      if (!add(listing, entry)) return listing->answer->length ? 0 : EINVAL;
      at += entry->length;
    }
  }
}

static int read_directory(const struct volume_call *call, struct answer *answer, bool plus) {
  struct fuse_read_in in;
  if (!TAKE(call, in) || in.offset > INT64_MAX) return EINVAL;
  int directory = subject_open(call, O_RDONLY | O_DIRECTORY);
  if (directory < 0) return errno;
  struct listing listing = {call, answer, directory, in.size < VOLUME_DATA_LIMIT ? in.size : VOLUME_DATA_LIMIT, plus};
  int error = in.offset && lseek(directory, (off_t)in.offset, SEEK_SET) < 0 ? errno : list(&listing);
  close(directory);
  return error;
}

int operate_readdir(const struct volume_call *call, struct answer *answer) { return read_directory(call, answer, false); }
int operate_readdirplus(const struct volume_call *call, struct answer *answer) { return read_directory(call, answer, true); }
