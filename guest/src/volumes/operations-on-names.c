// What makes, moves and removes names.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "operations.h"

// What renameat2 is told.
#define RENAME_FLAGS 3u  // not to replace, to exchange
#define SPECIAL_BITS (S_ISUID | S_ISGID)

// What was just made belongs to whoever asked for it, in a directory that says so to the directory's group.
static int give(const struct volume_call *call, int directory, const char *name, mode_t mode) {
  struct stat parent, made;
  if (fstat(directory, &parent) != 0 || fstatat(directory, name, &made, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  gid_t group = parent.st_mode & S_ISGID ? parent.st_gid : call->request->gid;
  bool other = made.st_uid != call->request->uid || made.st_gid != group;
  if (other && fchownat(directory, name, call->request->uid, group, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  // A change of owner takes these away.
  if (S_ISREG(made.st_mode) && mode & SPECIAL_BITS && fchmodat(directory, name, mode & 07777, 0) != 0) return errno;
  return 0;
}

struct making {
  int directory;
  const char *name;
};

static int make_begin(const struct volume_call *call, size_t offset, struct making *making) {
  making->name = next_name(call, &offset);
  if (!making->name) return EINVAL;
  making->directory = directory_open(call, call->path);
  return making->directory < 0 ? errno : 0;
}

static int make_end(const struct volume_call *call, struct making making, mode_t mode, int error, struct answer *answer) {
  if (!error) {
    error = give(call, making.directory, making.name, mode);
    // One that cannot be given to its owner was not made.
    if (error) unlinkat(making.directory, making.name, S_ISDIR(mode) ? AT_REMOVEDIR : 0);
  }
  if (!error) error = answer_entry(call, making.directory, making.name, answer);
  close(making.directory);
  return error;
}

int operate_lookup(const struct volume_call *call, struct answer *answer) {
  struct making found;
  int error = make_begin(call, 0, &found);
  if (error) return error;
  error = answer_entry(call, found.directory, found.name, answer);
  close(found.directory);
  return error;
}

int operate_symlink(const struct volume_call *call, struct answer *answer) {
  struct making making;
  size_t offset = 0;
  next_text(call, &offset);
  const char *target = next_text(call, &offset);
  int error = target ? make_begin(call, 0, &making) : EINVAL;
  if (error) return error;
  error = symlinkat(target, making.directory, making.name) == 0 ? 0 : errno;
  return make_end(call, making, S_IFLNK, error, answer);
}

// SAFETY: a device means the host's own hardware; the kernel refuses one too, to whoever is root in a user namespace alone.
static bool is_harmless(mode_t mode) { return S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode); }

int operate_mknod(const struct volume_call *call, struct answer *answer) {
  struct fuse_mknod_in in;
  struct making making;
  if (!TAKE(call, in)) return EINVAL;
  if (!is_harmless(in.mode)) return EPERM;
  int error = make_begin(call, sizeof in, &making);
  if (error) return error;
  error = mknodat(making.directory, making.name, in.mode, 0) == 0 ? 0 : errno;
  return make_end(call, making, in.mode, error, answer);
}

int operate_mkdir(const struct volume_call *call, struct answer *answer) {
  struct fuse_mkdir_in in;
  struct making making;
  if (!TAKE(call, in)) return EINVAL;
  int error = make_begin(call, sizeof in, &making);
  if (error) return error;
  error = mkdirat(making.directory, making.name, in.mode & 07777) == 0 ? 0 : errno;
  return make_end(call, making, S_IFDIR | (in.mode & 07777), error, answer);
}

static int open_existing(const struct making *making, uint32_t flags, bool drop) {
  struct stat status;
  if (flags & O_EXCL) return EEXIST;
  if (fstatat(making->directory, making->name, &status, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EEXIST;
  if (!(flags & O_TRUNC)) return 0;
  int descriptor = openat(making->directory, making->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_TRUNC);
  if (descriptor < 0) return errno;
  if (drop) drop_privileges(descriptor);
  close(descriptor);
  return 0;
}

int operate_create(const struct volume_call *call, struct answer *answer) {
  struct fuse_create_in in;
  struct making making;
  if (!TAKE(call, in)) return EINVAL;
  int error = make_begin(call, sizeof in, &making);
  if (error) return error;
  mode_t mode = S_IFREG | (in.mode & 07777);
  error = mknodat(making.directory, making.name, mode, 0) == 0 ? 0 : errno;
  if (error != EEXIST) {
    error = make_end(call, making, mode, error, answer);
  } else {
    error = open_existing(&making, in.flags, in.open_flags & FUSE_OPEN_KILL_SUIDGID);
    if (!error) error = answer_entry(call, making.directory, making.name, answer);
    close(making.directory);
  }
  if (error) return error;
  ((struct fuse_create_out *)answer->body)->open = (struct fuse_open_out){0};
  answer->length = sizeof(struct fuse_create_out);
  return 0;
}

static int remove_name(const struct volume_call *call, int flags) {
  struct making removing;
  int error = make_begin(call, 0, &removing);
  if (error) return error;
  if (flags == 0) hold_file(call->request->hold, removing.directory, removing.name);
  if (unlinkat(removing.directory, removing.name, flags) != 0) {
    error = errno;
    hold_release(call->request->hold);
  }
  close(removing.directory);
  return error;
}

int operate_unlink(const struct volume_call *call, struct answer *answer) {
  (void)answer;
  return remove_name(call, 0);
}

int operate_rmdir(const struct volume_call *call, struct answer *answer) {
  (void)answer;
  return remove_name(call, AT_REMOVEDIR);
}

static int rename_with(const struct volume_call *call, size_t offset, uint32_t flags) {
  const char *name = next_name(call, &offset), *other = next_name(call, &offset);
  if (!name || !other || flags & ~RENAME_FLAGS) return EINVAL;
  int directory = directory_open(call, call->path);
  if (directory < 0) return errno;
  int target = directory_open(call, call->other), error = 0;
  if (target < 0) {
    error = errno;
    close(directory);
    return error;
  }
  hold_file(call->request->hold, target, other);
  if (syscall(SYS_renameat2, directory, name, target, other, flags) != 0) {
    error = errno;
    hold_release(call->request->hold);
  }
  close(directory);
  close(target);
  return error;
}

int operate_rename(const struct volume_call *call, struct answer *answer) {
  (void)answer;
  return rename_with(call, sizeof(struct fuse_rename_in), 0);
}

int operate_rename2(const struct volume_call *call, struct answer *answer) {
  (void)answer;
  struct fuse_rename2_in in;
  return TAKE(call, in) ? rename_with(call, sizeof in, in.flags) : EINVAL;
}

// Another name, in the directory at the path, of the file at the other path.
int operate_link(const struct volume_call *call, struct answer *answer) {
  char parent[VOLUME_PATH_LIMIT + 1];
  struct making making;
  if (call->request->held) return ENOENT;
  const char *slash = strrchr(call->other, '/'), *name = slash ? slash + 1 : call->other;
  size_t length = slash ? (size_t)(slash - call->other) : 0;
  memcpy(parent, call->other, length);
  parent[length] = 0;
  if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return EINVAL;
  int error = make_begin(call, sizeof(struct fuse_link_in), &making);
  if (error) return error;
  int source = directory_open(call, parent);
  if (source < 0 || linkat(source, name, making.directory, making.name, 0) != 0) error = errno;
  if (source >= 0) close(source);
  if (!error) error = answer_entry(call, making.directory, making.name, answer);
  close(making.directory);
  return error;
}
