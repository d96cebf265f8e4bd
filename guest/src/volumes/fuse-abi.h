// The kernel's interface to file systems in user space, version 7.31, as far as it is used; the small C library does not bring its header.
#ifndef HEARTH_FUSE_ABI_H
#define HEARTH_FUSE_ABI_H
#include <stdint.h>

enum fuse_opcode {
  FUSE_LOOKUP = 1,
  FUSE_FORGET = 2,
  FUSE_GETATTR = 3,
  FUSE_SETATTR = 4,
  FUSE_READLINK = 5,
  FUSE_SYMLINK = 6,
  FUSE_MKNOD = 8,
  FUSE_MKDIR = 9,
  FUSE_UNLINK = 10,
  FUSE_RMDIR = 11,
  FUSE_RENAME = 12,
  FUSE_LINK = 13,
  FUSE_OPEN = 14,
  FUSE_READ = 15,
  FUSE_WRITE = 16,
  FUSE_STATFS = 17,
  FUSE_RELEASE = 18,
  FUSE_FSYNC = 20,
  FUSE_SETXATTR = 21,
  FUSE_GETXATTR = 22,
  FUSE_LISTXATTR = 23,
  FUSE_REMOVEXATTR = 24,
  FUSE_INIT = 26,
  FUSE_OPENDIR = 27,
  FUSE_READDIR = 28,
  FUSE_RELEASEDIR = 29,
  FUSE_FSYNCDIR = 30,
  FUSE_CREATE = 35,
  FUSE_INTERRUPT = 36,
  FUSE_DESTROY = 38,
  FUSE_BATCH_FORGET = 42,
  FUSE_FALLOCATE = 43,
  FUSE_READDIRPLUS = 44,
  FUSE_RENAME2 = 45,
  FUSE_LSEEK = 46,
};

// Of INIT.
#define FUSE_ASYNC_READ (1u << 0)
#define FUSE_BIG_WRITES (1u << 5)
#define FUSE_AUTO_INVAL_DATA (1u << 12)
#define FUSE_DO_READDIRPLUS (1u << 13)
#define FUSE_READDIRPLUS_AUTO (1u << 14)
#define FUSE_NO_OPEN_SUPPORT (1u << 17)
#define FUSE_PARALLEL_DIROPS (1u << 18)
#define FUSE_MAX_PAGES (1u << 22)
#define FUSE_CACHE_SYMLINKS (1u << 23)
#define FUSE_NO_OPENDIR_SUPPORT (1u << 24)
#define FUSE_EXPLICIT_INVAL_DATA (1u << 25)
#define FUSE_HANDLE_KILLPRIV_V2 (1u << 28)

// Of SETATTR.
#define FATTR_MODE (1u << 0)
#define FATTR_UID (1u << 1)
#define FATTR_GID (1u << 2)
#define FATTR_SIZE (1u << 3)
#define FATTR_ATIME (1u << 4)
#define FATTR_MTIME (1u << 5)
#define FATTR_ATIME_NOW (1u << 7)
#define FATTR_MTIME_NOW (1u << 8)
#define FATTR_KILL_SUIDGID (1u << 11)

// Of WRITE and of CREATE.
#define FUSE_WRITE_KILL_SUIDGID (1u << 2)
#define FUSE_OPEN_KILL_SUIDGID (1u << 0)

#define FUSE_FSYNC_FDATASYNC 1u
#define FUSE_NOTIFY_INVAL_INODE 2
#define FUSE_NOTIFY_INVAL_ENTRY 3
#define FUSE_ROOT_ID 1u
#define FUSE_NAME_MAX 255u
#define FUSE_MIN_READ_BUFFER 8192u

struct fuse_in_header {
  uint32_t len, opcode;
  uint64_t unique, nodeid;
  uint32_t uid, gid, pid, padding;
};

struct fuse_out_header {
  uint32_t len;
  int32_t error;
  uint64_t unique;
};

struct fuse_attr {
  uint64_t ino, size, blocks, atime, mtime, ctime;
  uint32_t atimensec, mtimensec, ctimensec, mode, nlink, uid, gid, rdev, blksize, padding;
};

struct fuse_entry_out {
  uint64_t nodeid, generation, entry_valid, attr_valid;
  uint32_t entry_valid_nsec, attr_valid_nsec;
  struct fuse_attr attr;
};

struct fuse_attr_out {
  uint64_t attr_valid;
  uint32_t attr_valid_nsec, dummy;
  struct fuse_attr attr;
};

struct fuse_open_out {
  uint64_t fh;
  uint32_t open_flags, padding;
};

struct fuse_create_out {
  struct fuse_entry_out entry;
  struct fuse_open_out open;
};

struct fuse_init_in {
  uint32_t major, minor, max_readahead, flags;
};

struct fuse_init_out {
  uint32_t major, minor, max_readahead, flags;
  uint16_t max_background, congestion_threshold;
  uint32_t max_write, time_gran;
  uint16_t max_pages, map_alignment;
  uint32_t flags2, unused[7];
};

struct fuse_setattr_in {
  uint32_t valid, padding;
  uint64_t fh, size, lock_owner, atime, mtime, ctime;
  uint32_t atimensec, mtimensec, ctimensec, mode, unused4, uid, gid, unused5;
};

struct fuse_mknod_in {
  uint32_t mode, rdev, umask, padding;
};

struct fuse_mkdir_in {
  uint32_t mode, umask;
};

struct fuse_rename_in {
  uint64_t newdir;
};

struct fuse_rename2_in {
  uint64_t newdir;
  uint32_t flags, padding;
};

struct fuse_link_in {
  uint64_t oldnodeid;
};

struct fuse_create_in {
  uint32_t flags, mode, umask, open_flags;
};

struct fuse_read_in {
  uint64_t fh, offset;
  uint32_t size, read_flags;
  uint64_t lock_owner;
  uint32_t flags, padding;
};

struct fuse_write_in {
  uint64_t fh, offset;
  uint32_t size, write_flags;
  uint64_t lock_owner;
  uint32_t flags, padding;
};

struct fuse_write_out {
  uint32_t size, padding;
};

struct fuse_fsync_in {
  uint64_t fh;
  uint32_t fsync_flags, padding;
};

struct fuse_setxattr_in {
  uint32_t size, flags;
};

struct fuse_getxattr_in {
  uint32_t size, padding;
};

struct fuse_fallocate_in {
  uint64_t fh, offset, length;
  uint32_t mode, padding;
};

struct fuse_lseek_in {
  uint64_t fh, offset;
  uint32_t whence, padding;
};

struct fuse_forget_in {
  uint64_t nlookup;
};

struct fuse_batch_forget_in {
  uint32_t count, dummy;
};

struct fuse_forget_one {
  uint64_t nodeid, nlookup;
};

struct fuse_dirent {
  uint64_t ino, off;
  uint32_t namelen, type;
  char name[];
};

struct fuse_direntplus {
  struct fuse_entry_out entry;
  struct fuse_dirent dirent;
};

#define FUSE_ALIGN(length) (((length) + 7u) & ~7u)

struct fuse_statfs_out {
  uint64_t blocks, bfree, bavail, files, ffree;
  uint32_t bsize, namelen, frsize, padding, spare[6];
};

struct fuse_notify_inval_inode_out {
  uint64_t ino;
  int64_t off, len;
};

struct fuse_notify_inval_entry_out {
  uint64_t parent;
  uint32_t namelen, flags;
};
#endif
