#define _GNU_SOURCE
#include "operations.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
// From the kernel's openat2.h, which musl's headers do not have.
#define RESOLVE_NO_XDEV 1u
#define RESOLVE_NO_MAGICLINKS 2u
#define RESOLVE_NO_SYMLINKS 4u
#define RESOLVE_BENEATH 8u
// Long enough that the kernel asks again rarely, where nobody else changes anything.
#define OWN_SECONDS 3600u

struct how {
  uint64_t flags, mode, resolve;
};

static int open_beneath(int root, const char *path, int flags) {
  struct how how = {(uint64_t)(unsigned)(flags | O_NOFOLLOW | O_CLOEXEC), 0, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
  return (int)syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof how);
}

int subject_open(const struct volume_call *call, int flags) {
  if (!call->request->held) return open_beneath(call->root->descriptor, call->path, flags);
  int held = hold_find(call->request->held);
  if (held >= 0) return fcntl(held, F_DUPFD_CLOEXEC, 3);
  errno = ESTALE;
  return -1;
}

int subject_open_file(const struct volume_call *call, int flags) {
  // A pipe or a device would wait, or do something: neither is touched by what does not block.
  int descriptor = subject_open(call, flags | O_NONBLOCK | O_NOCTTY);
  struct stat status;
  if (descriptor < 0 || (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode))) return descriptor;
  close(descriptor);
  errno = EINVAL;
  return -1;
}

int directory_open(const struct volume_call *call, const char *path) { return open_beneath(call->root->descriptor, path, O_PATH | O_DIRECTORY); }

const char *next_text(const struct volume_call *call, size_t *offset) {
  if (*offset >= call->arguments_length) return NULL;
  const char *text = (const char *)call->arguments + *offset;
  size_t room = call->arguments_length - *offset, length = strnlen(text, room);
  if (length == room) return NULL;
  *offset += length + 1;
  return text;
}

const char *next_name(const struct volume_call *call, size_t *offset) {
  const char *name = next_text(call, offset);
  if (!name || !*name || strlen(name) > FUSE_NAME_MAX || strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return NULL;
  return name;
}

void fill_attributes(const struct stat *status, struct fuse_attr *attributes) {
  *attributes = (struct fuse_attr){
      .ino = status->st_ino,
      .size = (uint64_t)status->st_size,
      .blocks = (uint64_t)status->st_blocks,
      .atime = (uint64_t)status->st_atim.tv_sec,
      .mtime = (uint64_t)status->st_mtim.tv_sec,
      .ctime = (uint64_t)status->st_ctim.tv_sec,
      .atimensec = (uint32_t)status->st_atim.tv_nsec,
      .mtimensec = (uint32_t)status->st_mtim.tv_nsec,
      .ctimensec = (uint32_t)status->st_ctim.tv_nsec,
      .mode = status->st_mode,
      .nlink = (uint32_t)status->st_nlink,
      .uid = status->st_uid,
      .gid = status->st_gid,
      .rdev = (uint32_t)status->st_rdev,
      .blksize = 4096,
  };
}

// Whoever only reads a volume sees at once what its writer does; the one writer knows it all by himself.
static uint64_t seconds(const struct volume_call *call) { return call->root->read_only ? 0 : OWN_SECONDS; }

void entry_of(const struct volume_call *call, const struct stat *status, struct fuse_entry_out *entry) {
  *entry = (struct fuse_entry_out){.entry_valid = seconds(call), .attr_valid = seconds(call)};
  fill_attributes(status, &entry->attr);
}

int answer_entry(const struct volume_call *call, int directory, const char *name, struct answer *answer) {
  struct stat status;
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  entry_of(call, &status, answer->body);
  answer->length = sizeof(struct fuse_entry_out);
  return 0;
}

int answer_attributes(const struct volume_call *call, int descriptor, struct answer *answer) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return errno;
  struct fuse_attr_out *out = answer->body;
  *out = (struct fuse_attr_out){.attr_valid = seconds(call)};
  fill_attributes(&status, &out->attr);
  answer->length = sizeof *out;
  return 0;
}
