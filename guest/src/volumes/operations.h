// One function for each request. They return 0 or an errno, and set the length of their answer's body.
#ifndef HEARTH_VOLUMES_OPERATIONS_H
#define HEARTH_VOLUMES_OPERATIONS_H
#include <sys/stat.h>

#include "serve.h"

// What an operation answers with.
struct answer {
  void *body;
  uint32_t length;
};

typedef int operation(const struct volume_call *call, struct answer *answer);

operation operate_lookup, operate_getattr, operate_setattr, operate_readlink, operate_symlink, operate_mknod, operate_mkdir, operate_unlink, operate_rmdir,
    operate_rename, operate_rename2, operate_link, operate_create, operate_read, operate_write, operate_statfs, operate_fsync,
    operate_setxattr, operate_getxattr, operate_listxattr, operate_removexattr, operate_readdir, operate_readdirplus, operate_fallocate,
    operate_lseek;

// The subject of a call, opened. SAFETY: below the root of its volume and without following a link, whatever the path is. -1 and errno.
int subject_open(const struct volume_call *call, int flags);
// The same for what must be a regular file, which is the only thing that is read and written.
int subject_open_file(const struct volume_call *call, int flags);
// Takes away what lets a program run as another than who executes it, as the kernel does when a file is written to.
void drop_privileges(int file);
// A directory at a path of the volume.
int directory_open(const struct volume_call *call, const char *path);
// The next argument that is a text; NULL when there is none. A name is nothing but a name.
const char *next_text(const struct volume_call *call, size_t *offset);
const char *next_name(const struct volume_call *call, size_t *offset);
void fill_attributes(const struct stat *status, struct fuse_attr *attributes);
int answer_entry(const struct volume_call *call, int directory, const char *name, struct answer *answer);
int answer_attributes(const struct volume_call *call, int descriptor, struct answer *answer);
void entry_of(const struct volume_call *call, const struct stat *status, struct fuse_entry_out *entry);

// Keeps what has this name. 0 when it does not have to be kept, or cannot.
void hold_file(uint32_t number, int directory, const char *name);
void hold_release(uint32_t number);
// The descriptor of a held file, -1 when it is none.
int hold_find(uint32_t number);

// The arguments of a request begin with this structure. Evaluates to false when they are too short.
#define TAKE(call, target) ((call)->arguments_length >= sizeof(target) && (__builtin_memcpy(&(target), (call)->arguments, sizeof(target)), true))
#endif
