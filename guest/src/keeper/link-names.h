// Where the inodes with several names were met first.
#ifndef HEARTH_KEEPER_LINK_NAMES_H
#define HEARTH_KEEPER_LINK_NAMES_H
#include <sys/stat.h>

#define LINK_BUCKETS 4096

struct link_names {
  struct link_name *buckets[LINK_BUCKETS];
};

// The path under which the inode was met before; NULL when it is the first time, which is noted, or when it has one name only.
const char *link_names_find(struct link_names *names, const struct stat *status, const char *path);
void link_names_release(struct link_names *names);

#endif
