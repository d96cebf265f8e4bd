#include "link-names.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct link_name {
  struct link_name *next;
  dev_t device;
  ino_t inode;
  char path[];
};

const char *link_names_find(struct link_names *names, const struct stat *status, const char *path) {
  if (status->st_nlink < 2) return NULL;
  struct link_name **bucket = &names->buckets[((uint64_t)status->st_ino * 2654435761u + status->st_dev) % LINK_BUCKETS];
  for (struct link_name *link = *bucket; link; link = link->next)
    if (link->inode == status->st_ino && link->device == status->st_dev) return link->path;
  // Without memory for it the next name becomes a file of its own.
  struct link_name *added = malloc(sizeof *added + strlen(path) + 1);
  if (!added) return NULL;
  *added = (struct link_name){.next = *bucket, .device = status->st_dev, .inode = status->st_ino};
  strcpy(added->path, path);
  *bucket = added;
  return NULL;
}

void link_names_release(struct link_names *names) {
  for (size_t i = 0; i < LINK_BUCKETS; i++)
    for (struct link_name *link = names->buckets[i]; link;) {
      struct link_name *next = link->next;
      free(link);
      link = next;
    }
}
