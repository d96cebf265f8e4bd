// What reads and changes a file and what is known of it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "operations.h"

#define SYS_FCHMODAT2 452

int operate_getattr(const struct volume_call *call, struct answer *answer) {
  int descriptor = subject_open(call, O_PATH);
  if (descriptor < 0) return errno;
  int error = answer_attributes(call, descriptor, answer);
  close(descriptor);
  return error;
}

// A descriptor that only stands for a file cannot have its permissions changed, but by newer kernels.
static int change_mode(const struct volume_call *call, int descriptor, mode_t mode) {
  struct stat status;
  if (fstat(descriptor, &status) != 0) return errno;
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) return syscall(SYS_FCHMODAT2, descriptor, "", mode, AT_EMPTY_PATH) == 0 ? 0 : errno;
  int file = subject_open(call, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return errno;
  int error = fchmod(file, mode) == 0 ? 0 : errno;
  close(file);
  return error;
}

void drop_privileges(int file) {
  struct stat status;
  if (fstat(file, &status) != 0) return;
  mode_t taken = S_ISUID | (status.st_mode & S_IXGRP ? S_ISGID : 0);
  if (status.st_mode & taken) fchmod(file, status.st_mode & 07777 & ~taken);
}

static int change_size(const struct volume_call *call, uint64_t size, bool drop) {
  int file = subject_open_file(call, O_WRONLY);
  if (file < 0) return errno;
  int error = size > INT64_MAX ? EFBIG : ftruncate(file, (off_t)size) == 0 ? 0 : errno;
  if (!error && drop) drop_privileges(file);
  close(file);
  return error;
}

static struct timespec time_of(uint32_t valid, uint32_t given, uint32_t now, uint64_t whole, uint32_t nanoseconds) {
  if (!(valid & given)) return (struct timespec){0, UTIME_OMIT};
  return valid & now ? (struct timespec){0, UTIME_NOW} : (struct timespec){(time_t)whole, (long)nanoseconds};
}

static int change_attributes(const struct volume_call *call, int descriptor, const struct fuse_setattr_in *in) {
  uint32_t valid = in->valid;
  int error = 0;
  if (valid & (FATTR_UID | FATTR_GID)) {
    uid_t user = valid & FATTR_UID ? in->uid : (uid_t)-1;
    gid_t group = valid & FATTR_GID ? in->gid : (gid_t)-1;
    error = fchownat(descriptor, "", user, group, AT_EMPTY_PATH) == 0 ? 0 : errno;
  }
  if (!error && valid & FATTR_MODE) error = change_mode(call, descriptor, in->mode & 07777);
  if (!error && valid & FATTR_SIZE) error = change_size(call, in->size, valid & FATTR_KILL_SUIDGID);
  if (error || !(valid & (FATTR_ATIME | FATTR_MTIME))) return error;
  struct timespec times[2] = {time_of(valid, FATTR_ATIME, FATTR_ATIME_NOW, in->atime, in->atimensec),
                              time_of(valid, FATTR_MTIME, FATTR_MTIME_NOW, in->mtime, in->mtimensec)};
  return utimensat(descriptor, "", times, AT_EMPTY_PATH) == 0 ? 0 : errno;
}

int operate_setattr(const struct volume_call *call, struct answer *answer) {
  struct fuse_setattr_in in;
  if (!TAKE(call, in)) return EINVAL;
  int descriptor = subject_open(call, O_PATH);
  if (descriptor < 0) return errno;
  int error = change_attributes(call, descriptor, &in);
  if (!error) error = answer_attributes(call, descriptor, answer);
  close(descriptor);
  return error;
}

int operate_readlink(const struct volume_call *call, struct answer *answer) {
  int descriptor = subject_open(call, O_PATH);
  if (descriptor < 0) return errno;
  ssize_t length = readlinkat(descriptor, "", answer->body, VOLUME_PATH_LIMIT);
  int error = length < 0 ? errno : 0;
  close(descriptor);
  if (!error) answer->length = (uint32_t)length;
  return error;
}

int operate_read(const struct volume_call *call, struct answer *answer) {
  struct fuse_read_in in;
  if (!TAKE(call, in) || in.offset > INT64_MAX) return EINVAL;
  int file = subject_open_file(call, O_RDONLY);
  if (file < 0) return errno;
  size_t wanted = in.size < VOLUME_DATA_LIMIT ? in.size : VOLUME_DATA_LIMIT;
  int error = 0;
  for (size_t done = 0; done < wanted;) {
    ssize_t count = pread(file, (uint8_t *)answer->body + done, wanted - done, (off_t)(in.offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && done == 0) error = errno;
    if (count <= 0) break;
    done += (size_t)count;
    answer->length = (uint32_t)done;
  }
  close(file);
  return error;
}

int operate_write(const struct volume_call *call, struct answer *answer) {
  struct fuse_write_in in;
  if (!TAKE(call, in) || in.offset > INT64_MAX || in.size > call->arguments_length - sizeof in) return EINVAL;
  int file = subject_open_file(call, O_WRONLY);
  if (file < 0) return errno;
  size_t done = 0;
  int error = 0;
  while (done < in.size && !error) {
    ssize_t count = pwrite(file, call->arguments + sizeof in + done, in.size - done, (off_t)(in.offset + done));
    if (count > 0) done += (size_t)count;
    else if (count == 0 || errno != EINTR) error = count == 0 ? ENOSPC : errno;
  }
  if (done > 0 && in.write_flags & FUSE_WRITE_KILL_SUIDGID) drop_privileges(file);
  close(file);
  if (done == 0 && error) return error;
  *(struct fuse_write_out *)answer->body = (struct fuse_write_out){(uint32_t)done, 0};
  answer->length = sizeof(struct fuse_write_out);
  return 0;
}

int operate_fsync(const struct volume_call *call, struct answer *answer) {
  (void)answer;
  struct fuse_fsync_in in;
  if (!TAKE(call, in)) return EINVAL;
  int file = subject_open(call, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return errno;
  int error = (in.fsync_flags & FUSE_FSYNC_FDATASYNC ? fdatasync(file) : fsync(file)) == 0 ? 0 : errno;
  close(file);
  return error;
}

int operate_fallocate(const struct volume_call *call, struct answer *answer) {
  (void)answer;
  struct fuse_fallocate_in in;
  if (!TAKE(call, in) || in.offset > INT64_MAX || in.length > INT64_MAX) return EINVAL;
  int file = subject_open_file(call, O_WRONLY);
  if (file < 0) return errno;
  int error = fallocate(file, (int)in.mode, (off_t)in.offset, (off_t)in.length) == 0 ? 0 : errno;
  close(file);
  return error;
}

int operate_lseek(const struct volume_call *call, struct answer *answer) {
  struct fuse_lseek_in in;
  if (!TAKE(call, in) || in.offset > INT64_MAX) return EINVAL;
  int file = subject_open_file(call, O_RDONLY);
  if (file < 0) return errno;
  off_t found = lseek(file, (off_t)in.offset, (int)in.whence);
  int error = found < 0 ? errno : 0;
  close(file);
  *(uint64_t *)answer->body = (uint64_t)found;
  if (!error) answer->length = sizeof(uint64_t);
  return error;
}

int operate_statfs(const struct volume_call *call, struct answer *answer) {
  struct statfs status;
  if (fstatfs(call->root->descriptor, &status) != 0) return errno;
  *(struct fuse_statfs_out *)answer->body = (struct fuse_statfs_out){
      .blocks = status.f_blocks,
      .bfree = status.f_bfree,
      .bavail = status.f_bavail,
      .files = status.f_files,
      .ffree = status.f_ffree,
      .bsize = (uint32_t)status.f_bsize,
      .namelen = FUSE_NAME_MAX,
      .frsize = (uint32_t)status.f_frsize,
  };
  answer->length = sizeof(struct fuse_statfs_out);
  return 0;
}
