// Directories in which the new files of a merge wait and the old ones are kept: one on each file system that the merge touches, so that
// every step is a rename.
#ifndef HEARTH_CHANGES_STAGING_H
#define HEARTH_CHANGES_STAGING_H
#include <stdint.h>
#include <sys/types.h>

#include "changes/operation.h"

#define STAGES 16
#define STAGED_NAME 32

struct stage {
  dev_t device;
  int parent, directory;
};

struct staging {
  int root;  // paths are below it
  int count;
  char name[STAGED_NAME];  // of each stage in its parent
  struct stage stages[STAGES];
};

int staging_open(struct staging *staging, int root);
// The stage for a path: on the file system of what exists of it. 0 or an errno.
int staging_for(struct staging *staging, const char *path, int *stage);
// Makes the new file of an operation, with its content from the stream and all its attributes.
int staging_make(const struct staging *staging, int stage, const char *name, const struct operation *operation, int input);
// Removes the stages with all that is in them.
void staging_close(struct staging *staging);

int set_owner(int directory, const char *name, uint32_t uid, uint32_t gid);
void set_modified(int directory, const char *name, int64_t modified);
#endif
