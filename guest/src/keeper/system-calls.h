// System calls and constants that musl's headers lack.
#ifndef HEARTH_KEEPER_SYSTEM_CALLS_H
#define HEARTH_KEEPER_SYSTEM_CALLS_H
#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// These numbers are the same on every architecture.
#define CALL_OPEN_TREE 428
#define CALL_MOVE_MOUNT 429
#define CALL_CLOSE_RANGE 436
#define CALL_OPENAT2 437
#define CALL_MOUNT_SETATTR 442

#define TREE_CLONE 1u
#define TREE_RECURSIVE 0x8000u
#define TREE_EMPTY_PATH 0x1000u
#define MOVE_FROM_EMPTY_PATH 4u
#define ATTRIBUTE_READ_ONLY 0x00000001u
#define ATTRIBUTE_NO_SETUID 0x00000002u
#define ATTRIBUTE_NO_DEVICES 0x00000004u
#define ATTRIBUTE_ID_MAP 0x00100000u
#define RESOLVE_NO_LINKS 0x04u
#define RESOLVE_BENEATH 0x08u

struct mount_attributes {
  uint64_t set;
  uint64_t clear;
  uint64_t propagation;
  uint64_t user_namespace;
};

struct open_how {
  uint64_t flags;
  uint64_t mode;
  uint64_t resolve;
};

// A descriptor of what a relative path names below a directory, when no part of it is a link.
static inline int call_open_unlinked(int directory, const char *path) {
  struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_LINKS | RESOLVE_BENEATH};
  return (int)syscall(CALL_OPENAT2, directory, path, &how, sizeof how);
}

static inline int call_open_tree(const char *path, unsigned flags) {
  return (int)syscall(CALL_OPEN_TREE, AT_FDCWD, path, flags | TREE_CLONE | O_CLOEXEC);
}

static inline int call_move_mount(int mount, const char *target) {
  return (int)syscall(CALL_MOVE_MOUNT, mount, "", AT_FDCWD, target, MOVE_FROM_EMPTY_PATH);
}

static inline int call_mount_setattr(int mount, unsigned flags, struct mount_attributes *attributes) {
  return (int)syscall(CALL_MOUNT_SETATTR, mount, "", flags | TREE_EMPTY_PATH, attributes, sizeof *attributes);
}

// As linux/capability.h has them: version 3, two words of 32 capabilities each.
struct capability_words {
  uint32_t effective, permitted, inheritable;
};

// Makes every capability that the caller may have effective. False with errno set.
static inline int capabilities_raise(void) {
  uint32_t header[2] = {0x20080522, 0};
  struct capability_words words[2];
  if (syscall(SYS_capget, header, words) != 0) return 0;
  for (int i = 0; i < 2; i++) words[i].effective = words[i].permitted;
  return syscall(SYS_capset, header, words) == 0;
}

static inline int call_close_range(unsigned first, unsigned last) { return (int)syscall(CALL_CLOSE_RANGE, first, last, 0); }

#endif
