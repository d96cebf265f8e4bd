#define _GNU_SOURCE
#include "changes/send.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "changes/send-stream.h"

// From linux/btrfs.h, which a musl toolchain does not have.
#define ROOT_INODE 256u
#define SEND_NO_FILE_DATA 1u
struct send_arguments {
  int64_t output;
  uint64_t clone_count;
  uint64_t *clones;
  uint64_t parent;
  uint64_t flags;
  uint32_t version;
  uint8_t reserved[28];
};
struct lookup_arguments {
  uint64_t tree;
  uint64_t object;
  char name[4080];
};
struct path_arguments {
  uint64_t inode;
  uint64_t size;
  uint64_t reserved[4];
  uint64_t container;
};
struct path_container {
  uint32_t bytes_left, bytes_missing, count, missed;
  uint64_t offsets[510];
};
#define CALL_SEND _IOW(0x94, 38, struct send_arguments)
#define CALL_LOOKUP _IOWR(0x94, 18, struct lookup_arguments)
#define CALL_INODE_PATHS _IOWR(0x94, 35, struct path_arguments)
_Static_assert(sizeof(struct send_arguments) == 72 && sizeof(struct path_arguments) == 56, "as the kernel has it");
_Static_assert(sizeof(struct path_container) == 4096, "the most that the kernel fills");

// From linux/openat2.h.
struct open_how {
  uint64_t flags, mode, resolve;
};
#define RESOLVE_NO_SYMLINKS_BENEATH (0x04u | 0x08u)
#define OPENAT2 437

static int open_subvolume(const char *path) {
  int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0 || (fstat(descriptor, &status) == 0 && status.st_ino == ROOT_INODE)) return descriptor;
  close(descriptor);
  errno = EINVAL;
  return -1;
}

// The kernel writes the stream while it compares, so that a second process has to read it.
static _Noreturn void send(int subvolume, uint64_t parent, int output) {
  struct send_arguments arguments = {.output = output, .parent = parent, .flags = SEND_NO_FILE_DATA};
  _exit(ioctl(subvolume, CALL_SEND, &arguments) == 0 ? 0 : 1);
}

static int compare(int before, int after, const char *prefix, struct selection *touched) {
  struct lookup_arguments lookup = {.object = ROOT_INODE};
  int pair[2], status;
  if (ioctl(before, CALL_LOOKUP, &lookup) != 0 || pipe2(pair, O_CLOEXEC) != 0) return errno;
  pid_t pid = fork();
  if (pid == 0) {
    close(pair[0]);
    send(after, lookup.tree, pair[1]);
  }
  int error = pid < 0 ? errno : 0;
  close(pair[1]);
  if (!error) error = send_stream_read(pair[0], prefix, touched);
  close(pair[0]);
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return error || (WIFEXITED(status) && WEXITSTATUS(status) == 0) ? error : EIO;
}

static int add_names(struct selection *touched, int after, uint64_t inode, const char *prefix) {
  struct path_container container = {0};
  struct path_arguments arguments = {.inode = inode, .size = sizeof container, .container = (uint64_t)(uintptr_t)&container};
  if (ioctl(after, CALL_INODE_PATHS, &arguments) != 0) return errno;
  if (container.missed) return E2BIG;
  for (uint32_t i = 0; i < container.count && i < 510; i++) {
    if (container.offsets[i] >= sizeof container.offsets) return EBADMSG;
    const char *path = (const char *)container.offsets + container.offsets[i];
    size_t length = strnlen(path, sizeof container.offsets - container.offsets[i]);
    int error = selection_add_below(touched, prefix, path, length, false);
    if (error) return error;
  }
  return 0;
}

// A stream names a file with several names once: the others changed with it.
static int add_other_names(struct selection *touched, int after, const char *prefix) {
  struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS_BENEATH};
  int root = openat(after, *prefix ? prefix : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  int error = root < 0 ? errno : 0;
  size_t count = touched->count;
  for (size_t i = 0; i < count && !error; i++) {
    struct stat status;
    long descriptor = syscall(OPENAT2, root, touched->items[i].path, &how, sizeof how);
    if (descriptor < 0) continue;
    bool several = fstat((int)descriptor, &status) == 0 && !S_ISDIR(status.st_mode) && status.st_nlink > 1;
    close((int)descriptor);
    if (several) error = add_names(touched, after, status.st_ino, prefix);
  }
  if (root >= 0) close(root);
  return error;
}

int send_touched(const char *before, const char *after, const char *prefix, struct selection *touched) {
  int old = open_subvolume(before);
  int new = old < 0 ? -1 : open_subvolume(after);
  int error = old < 0 || new < 0 ? errno : compare(old, new, prefix, touched);
  if (!error) error = add_other_names(touched, new, prefix);
  if (old >= 0) close(old);
  if (new >= 0) close(new);
  return error;
}
