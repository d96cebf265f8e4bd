#define _GNU_SOURCE
#include "btrfs.h"
#include "btrfs-groups.h"
#include "text-file.h"
#include "numbers.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

// From linux/btrfs.h, which a musl toolchain does not have.
#define BTRFS_MAGIC 0x9123683e
#define BTRFS_READ_ONLY 2u
#define BTRFS_QUOTA_ENABLE 1u
#define BTRFS_QUOTA_ENABLE_SIMPLE 4u
#define BTRFS_LIMIT_REFERENCED 1u
#define BTRFS_ROOT_INODE 256u
// From linux/fs.h. The kernel reads an int, whatever the call's number says.
#define CALL_GET_FLAGS _IOR('f', 1, long)
#define CALL_SET_FLAGS _IOW('f', 2, long)
#define FLAG_COMPRESSED 0x00000004
#define FLAG_NOCOW 0x00800000

struct volume_arguments {
  int64_t fd;
  char name[4088];
};
struct volume_arguments_2 {
  int64_t fd;
  uint64_t transaction;
  uint64_t flags;
  uint64_t unused[4];
  char name[4040];
};
struct lookup_arguments {
  uint64_t tree;
  uint64_t object;
  char name[4080];
};
struct quota_arguments {
  uint64_t command;
  uint64_t status;
};
struct limit_arguments {
  uint64_t group;
  uint64_t flags, max_referenced, max_exclusive, reserved_referenced, reserved_exclusive;
};
struct file_system_arguments {
  uint64_t max_id, devices;
  uint8_t id[16];
  uint8_t rest[992];
};

#define CALL_SUBVOLUME_CREATE _IOW(0x94, 14, struct volume_arguments)
#define CALL_SUBVOLUME_DELETE _IOW(0x94, 15, struct volume_arguments)
#define CALL_LOOKUP _IOWR(0x94, 18, struct lookup_arguments)
#define CALL_SNAPSHOT _IOW(0x94, 23, struct volume_arguments_2)
#define CALL_FILE_SYSTEM _IOR(0x94, 31, struct file_system_arguments)
#define CALL_QUOTA _IOWR(0x94, 40, struct quota_arguments)
#define CALL_LIMIT _IOR(0x94, 43, struct limit_arguments)
#define CALL_RESCAN_WAIT _IO(0x94, 46)

_Static_assert(sizeof(struct volume_arguments) == 4096 && sizeof(struct volume_arguments_2) == 4096, "as the kernel has it");
_Static_assert(sizeof(struct lookup_arguments) == 4096 && sizeof(struct file_system_arguments) == 1024, "as the kernel has it");

int btrfs_open(const char *path, const char *what, struct failure *failure) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) fail_with(failure, errno, "%s %s", what, path);
  return fd;
}

// Opens the directory that holds the last name of a path, and copies that name.
static int open_parent(const char *path, char *name, size_t size, const char *what, struct failure *failure) {
  char parent[PATH_MAX];
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  size_t start = length;
  while (start > 0 && path[start - 1] != '/') start--;
  if (length - start == 0 || length - start >= size || start >= sizeof parent) {
    fail_with(failure, EINVAL, "%s %s", what, path);
    return -1;
  }
  memcpy(name, path + start, length - start);
  name[length - start] = 0;
  memcpy(parent, path, start);
  parent[start] = 0;
  return btrfs_open(start == 0 ? "." : parent, what, failure);
}

bool btrfs_finish(int fd, int result, const char *what, const char *path, struct failure *failure) {
  int number = errno;
  close(fd);
  return result >= 0 || fail_with(failure, number, "%s %s", what, path);
}

bool btrfs_is(const char *path) {
  struct statfs status;
  return statfs(path, &status) == 0 && (uint32_t)status.f_type == BTRFS_MAGIC;
}

bool btrfs_create_subvolume(const char *path, struct failure *failure) {
  struct volume_arguments arguments = {0};
  int parent = open_parent(path, arguments.name, NAME_MAX + 1, "subvolume-create", failure);
  if (parent < 0) return false;
  return btrfs_finish(parent, ioctl(parent, CALL_SUBVOLUME_CREATE, &arguments), "subvolume-create", path, failure);
}

bool btrfs_delete_subvolume(const char *path, struct failure *failure) {
  struct volume_arguments arguments = {0};
  int parent = open_parent(path, arguments.name, NAME_MAX + 1, "subvolume-delete", failure);
  if (parent < 0) return false;
  return btrfs_finish(parent, ioctl(parent, CALL_SUBVOLUME_DELETE, &arguments), "subvolume-delete", path, failure);
}

bool btrfs_delete_subvolume_at(int parent, const char *name) {
  struct volume_arguments arguments = {0};
  if (strlen(name) > NAME_MAX) return false;
  strcpy(arguments.name, name);
  return ioctl(parent, CALL_SUBVOLUME_DELETE, &arguments) == 0;
}

bool btrfs_snapshot(const char *source, const char *target, bool read_only, struct failure *failure) {
  struct volume_arguments_2 arguments = {.flags = read_only ? BTRFS_READ_ONLY : 0};
  int parent = open_parent(target, arguments.name, NAME_MAX + 1, "snapshot", failure);
  if (parent < 0) return false;
  int from = btrfs_open(source, "snapshot", failure);
  if (from < 0) {
    close(parent);
    return false;
  }
  arguments.fd = from;
  int result = ioctl(parent, CALL_SNAPSHOT, &arguments);
  int number = errno;
  close(from);
  errno = number;
  return btrfs_finish(parent, result, "snapshot", target, failure);
}

bool btrfs_enable_quota(const char *mount, struct failure *failure) {
  int fd = btrfs_open(mount, "quota-enable", failure);
  if (fd < 0) return false;
  struct quota_arguments simple = {.command = BTRFS_QUOTA_ENABLE_SIMPLE};
  struct quota_arguments full = {.command = BTRFS_QUOTA_ENABLE};
  int result = ioctl(fd, CALL_QUOTA, &simple);
  // An older kernel does not know the command; EEXIST and the like mean that one kind is on already.
  if (result != 0 && errno == EINVAL) result = ioctl(fd, CALL_QUOTA, &full);
  if (result != 0 && errno == EEXIST) result = 0;
  // Limits that are set while the first scan goes on are not enforced. Simple quotas have none.
  if (result == 0 && ioctl(fd, CALL_RESCAN_WAIT) != 0 && errno != EINVAL) result = -1;
  return btrfs_finish(fd, result, "quota-enable", mount, failure);
}

bool btrfs_limit(const char *path, uint64_t bytes, struct failure *failure) {
  int fd = btrfs_open(path, "limit", failure);
  if (fd < 0) return false;
  // Group 0 stands for that of the descriptor's own subvolume. All ones take a limit away.
  struct limit_arguments arguments = {.flags = BTRFS_LIMIT_REFERENCED, .max_referenced = bytes ? bytes : UINT64_MAX};
  return btrfs_finish(fd, ioctl(fd, CALL_LIMIT, &arguments), "limit", path, failure);
}

bool btrfs_clone(const char *source, const char *target, uint64_t bytes, struct failure *failure) {
  if (!btrfs_snapshot(source, target, false, failure)) return false;
  if (bytes == 0 || btrfs_limit(target, bytes, failure)) return true;
  struct failure ignored;
  btrfs_delete_subvolume(target, &ignored);
  return false;
}

// Where the kernel shows what the quotas of a file system count.
static void quota_directory(const struct file_system_arguments *info, char *path, size_t size) {
  char id[37];
  size_t length = 0;
  for (size_t i = 0; i < sizeof info->id; i++) {
    const char *dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    length += (size_t)snprintf(id + length, sizeof id - length, "%s%02x", dash, info->id[i]);
  }
  snprintf(path, size, "/sys/fs/btrfs/%s/qgroups", id);
}

bool btrfs_find_quotas(int fd, const char *path, struct btrfs_quotas *quotas, struct failure *failure) {
  struct file_system_arguments info = {0};
  struct lookup_arguments lookup = {.object = BTRFS_ROOT_INODE};
  if (ioctl(fd, CALL_LOOKUP, &lookup) != 0 || ioctl(fd, CALL_FILE_SYSTEM, &info) != 0) return fail_with(failure, errno, "quotas %s", path);
  quota_directory(&info, quotas->directory, sizeof quotas->directory);
  quotas->subvolume = lookup.tree;
  quotas->simple = btrfs_quota_says(quotas, "mode", 's');
  return true;
}

bool btrfs_quota_says(const struct btrfs_quotas *quotas, const char *name, char what) {
  char file[128], text[8];
  snprintf(file, sizeof file, "%s/%s", quotas->directory, name);
  return text_file_get(file, text, sizeof text) > 0 && text[0] == what;
}

bool btrfs_group_bytes(const struct btrfs_quotas *quotas, unsigned level, uint64_t number, uint64_t *bytes) {
  char file[128], text[32];
  snprintf(file, sizeof file, "%s/%u_%llu/referenced", quotas->directory, level, (unsigned long long)number);
  if (text_file_get(file, text, sizeof text) < 0) return false;
  text[strcspn(text, "\n")] = 0;
  errno = EIO;
  return parse_number(text, 10, UINT64_MAX, bytes);
}

bool btrfs_usage(const char *path, uint64_t group, uint64_t *bytes, struct failure *failure) {
  int fd = btrfs_open(path, "usage", failure);
  if (fd < 0) return false;
  struct btrfs_quotas quotas;
  bool found = btrfs_find_quotas(fd, path, &quotas, failure);
  close(fd);
  if (!found) return false;
  if (group != 0 && quotas.simple && btrfs_group_bytes(&quotas, 1, group, bytes)) return true;
  return btrfs_group_bytes(&quotas, 0, quotas.subvolume, bytes) || fail_with(failure, errno, "usage %s: quotas are off", path);
}

bool btrfs_quota_state(const char *path, const char **state, struct failure *failure) {
  int fd = btrfs_open(path, "quota", failure);
  if (fd < 0) return false;
  struct btrfs_quotas quotas;
  bool found = btrfs_find_quotas(fd, path, &quotas, failure);
  close(fd);
  if (!found) return false;
  bool on = access(quotas.directory, F_OK) == 0 && !btrfs_quota_says(&quotas, "enabled", '0');
  *state = !on ? "off" : btrfs_quota_says(&quotas, "inconsistent", '1') ? "inconsistent" : "on";
  return true;
}

bool btrfs_make_in_place_file(const char *path, struct failure *failure) {
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail_with(failure, errno, "in-place-file %s", path);
  int flags = 0;
  int result = ioctl(fd, CALL_GET_FLAGS, &flags);
  // A directory may hand compression on to its files. It excludes this, also as what was there before.
  if (result == 0 && (flags & FLAG_COMPRESSED)) {
    flags &= ~FLAG_COMPRESSED;
    result = ioctl(fd, CALL_SET_FLAGS, &flags);
  }
  flags |= FLAG_NOCOW;
  if (result == 0) result = ioctl(fd, CALL_SET_FLAGS, &flags);
  return btrfs_finish(fd, result, "in-place-file", path, failure);
}

static bool is_subvolume(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_ino == BTRFS_ROOT_INODE;
}

bool btrfs_ensure_subvolume(const char *path, uint64_t bytes, struct failure *failure) {
  if (!btrfs_create_subvolume(path, failure)) {
    if (failure->number == ENOTTY || failure->number == EOPNOTSUPP) {
      if (bytes != 0) return fail_with(failure, EOPNOTSUPP, "subvolume %s: a limit needs btrfs", path);
      return mkdir(path, 0755) == 0 || errno == EEXIST || fail_with(failure, errno, "subvolume %s: mkdir", path);
    }
    if (failure->number != EEXIST || !is_subvolume(path)) return false;
  }
  return bytes == 0 || btrfs_limit(path, bytes, failure);
}
