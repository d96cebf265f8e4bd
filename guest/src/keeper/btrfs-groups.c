#define _GNU_SOURCE
#include "btrfs-groups.h"
#include "btrfs.h"
#include "numbers.h"
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// From linux/btrfs.h and linux/btrfs_tree.h, which a musl toolchain does not have.
#define BTRFS_LIMIT_REFERENCED 1u
#define ROOT_TREE 1u
#define QUOTA_TREE 8u
#define ROOT_ITEM 132u
#define GROUP_RELATION 246u
#define LEVEL_SHIFT 48

struct assign_arguments {
  uint64_t assign, member, group;
};
struct create_arguments {
  uint64_t create, group;
};
struct limit_arguments {
  uint64_t group;
  uint64_t flags, max_referenced, max_exclusive, reserved_referenced, reserved_exclusive;
};
struct search_arguments {
  uint64_t tree, least_object, most_object, least_offset, most_offset, least_transaction, most_transaction;
  uint32_t least_type, most_type, count, unused;
  uint64_t reserved[4];
  uint8_t found[3992];
};
struct found_item {
  uint64_t transaction, object, offset;
  uint32_t type, length;
};

#define CALL_SYNC _IO(0x94, 8)
#define CALL_SEARCH _IOWR(0x94, 17, struct search_arguments)
#define CALL_ASSIGN _IOW(0x94, 41, struct assign_arguments)
#define CALL_CREATE _IOW(0x94, 42, struct create_arguments)
#define CALL_LIMIT _IOR(0x94, 43, struct limit_arguments)

_Static_assert(sizeof(struct search_arguments) == 4096 && sizeof(struct found_item) == 32, "as the kernel has it");

static uint64_t identifier(uint64_t group) { return (uint64_t)1 << LEVEL_SHIFT | group; }

// A descriptor of the file system; -1 after a failure, -2 when its quotas need no groups.
static int open_simple(const char *path, const char *what, struct btrfs_quotas *quotas, struct failure *failure) {
  int fd = btrfs_open(path, what, failure);
  if (fd < 0) return -1;
  bool found = btrfs_find_quotas(fd, path, quotas, failure);
  if (found && quotas->simple) return fd;
  close(fd);
  return found ? -2 : -1;
}

bool btrfs_group_join(const char *path, uint64_t group, uint64_t bytes, struct failure *failure) {
  struct btrfs_quotas quotas;
  int member = open_simple(path, "group-join", &quotas, failure);
  if (member < 0) return member == -2 && btrfs_limit(path, bytes, failure);
  // A call counts for the subvolume that it is made on, and a full one refuses it.
  int fd = openat(member, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = errno;
  close(member);
  if (fd < 0) return fail_with(failure, error, "group-join %s", path);
  struct create_arguments create = {.create = 1, .group = identifier(group)};
  struct limit_arguments limit = {.group = create.group, .flags = BTRFS_LIMIT_REFERENCED, .max_referenced = bytes ? bytes : UINT64_MAX};
  struct assign_arguments assign = {.assign = 1, .member = quotas.subvolume, .group = create.group};
  int result = ioctl(fd, CALL_CREATE, &create);
  if (result == 0 || errno == EEXIST) result = ioctl(fd, CALL_LIMIT, &limit);
  if (result == 0) result = ioctl(fd, CALL_ASSIGN, &assign);
  if (result < 0 && errno == EEXIST) result = 0;
  return btrfs_finish(fd, result, "group-join", path, failure);
}

// The first item that fits, in its offset; 0 when there is none, and -1 after a failure.
static int search_first(int fd, struct search_arguments *search, uint64_t *offset) {
  search->most_transaction = UINT64_MAX;
  search->count = 1;
  if (ioctl(fd, CALL_SEARCH, search) != 0) return -1;
  if (search->count == 0) return 0;
  struct found_item item;
  memcpy(&item, search->found, sizeof item);
  *offset = item.offset;
  return 1;
}

// Each member that has been let go is not found again.
static int leave_all(int fd, uint64_t group) {
  for (;;) {
    struct search_arguments search = {.tree = QUOTA_TREE, .least_object = group, .most_object = group, .most_offset = UINT64_MAX, .least_type = GROUP_RELATION, .most_type = GROUP_RELATION};
    struct assign_arguments leave = {.group = group};
    int found = search_first(fd, &search, &leave.member);
    if (found <= 0) return found;
    if (ioctl(fd, CALL_ASSIGN, &leave) < 0) return -1;
  }
}

bool btrfs_group_remove(const char *path, uint64_t group, struct failure *failure) {
  struct btrfs_quotas quotas;
  int fd = open_simple(path, "group-remove", &quotas, failure);
  if (fd < 0) return fd == -2;
  struct create_arguments remove = {.create = 0, .group = identifier(group)};
  int result = leave_all(fd, remove.group);
  if (result == 0) result = ioctl(fd, CALL_CREATE, &remove);
  if (result != 0 && errno == ENOENT) result = 0;
  return btrfs_finish(fd, result, "group-remove", path, failure);
}

// Numbers of subvolumes are never given again: one that is gone stays gone. 1, 0, or -1 after a failure.
static int subvolume_exists(int fd, uint64_t number) {
  struct search_arguments search = {.tree = ROOT_TREE, .least_object = number, .most_object = number, .most_offset = UINT64_MAX, .least_type = ROOT_ITEM, .most_type = ROOT_ITEM};
  uint64_t offset;
  return search_first(fd, &search, &offset);
}

// 0, or -1 after a failure. One that was removed meanwhile, or that a block counts for again, is left.
static int tidy_one(int fd, const struct btrfs_quotas *quotas, uint64_t number) {
  uint64_t bytes;
  if (!btrfs_group_bytes(quotas, 0, number, &bytes) || bytes != 0) return 0;
  int exists = subvolume_exists(fd, number);
  if (exists != 0) return exists < 0 ? -1 : 0;
  struct create_arguments remove = {.create = 0, .group = number};
  return ioctl(fd, CALL_CREATE, &remove) == 0 || errno == ENOENT || errno == EBUSY ? 0 : -1;
}

bool btrfs_groups_tidy(const char *path, struct failure *failure) {
  struct btrfs_quotas quotas;
  int fd = open_simple(path, "groups-tidy", &quotas, failure);
  if (fd < 0) return fd == -2;
  DIR *directory = opendir(quotas.directory);
  int result = directory ? 0 : -1;
  for (struct dirent *entry; result == 0 && (entry = readdir(directory));) {
    uint64_t number;
    if (strncmp(entry->d_name, "0_", 2) == 0 && parse_number(entry->d_name + 2, 10, UINT64_MAX >> (64 - LEVEL_SHIFT), &number))
      result = tidy_one(fd, &quotas, number);
  }
  int error = errno;
  if (directory) closedir(directory);
  errno = error;
  return btrfs_finish(fd, result, "groups-tidy", path, failure);
}

bool btrfs_reclaim(const char *path, struct failure *failure) {
  int fd = btrfs_open(path, "reclaim", failure);
  return fd >= 0 && btrfs_finish(fd, ioctl(fd, CALL_SYNC), "reclaim", path, failure);
}
