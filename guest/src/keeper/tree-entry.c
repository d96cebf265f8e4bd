#define _GNU_SOURCE
#include "tree-entry.h"
#include <errno.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NAMES_BYTES 65536
#define VALUE_BYTES 65536

uint32_t tree_id(uint32_t id, uint32_t base) {
  if (base == 0) return id;
  return id >= base && id - base < 65536 ? id - base : TREE_NOBODY;
}

static bool is_kept(const char *name, uint32_t base) {
  if (strcmp(name, "trusted.overlay.opaque") == 0 || strcmp(name, "user.overlay.opaque") == 0) return true;
  // The other notes of an overlay are about the place where it was made.
  if (strncmp(name, "user.", 5) == 0) return strncmp(name, "user.overlay.", 13) != 0;
  // Lists of owners; those of shifted ids would name strangers.
  return base == 0 && strncmp(name, "system.posix_acl_", 17) == 0;
}

static bool copy_attributes(int from, int to, uint32_t base) {
  static char names[NAMES_BYTES], value[VALUE_BYTES];
  ssize_t length = flistxattr(from, names, sizeof names);
  if (length < 0) return errno == EOPNOTSUPP;
  for (char *name = names; name < names + length; name += strlen(name) + 1) {
    if (!is_kept(name, base)) continue;
    ssize_t size = fgetxattr(from, name, value, sizeof value);
    if (size < 0 && errno == ENODATA) continue;
    if (size < 0 || fsetxattr(to, name, value, (size_t)size, 0) != 0) return false;
  }
  return true;
}

bool tree_copy_properties(int from, int to, const struct stat *status, uint32_t base) {
  const struct timespec times[2] = {status->st_atim, status->st_mtim};
  return fchown(to, tree_id(status->st_uid, base), tree_id(status->st_gid, base)) == 0 && copy_attributes(from, to, base) &&
         fchmod(to, status->st_mode & 07777) == 0 && futimens(to, times) == 0;
}

bool tree_is_opaque(int directory) {
  char value[2];
  return (fgetxattr(directory, "trusted.overlay.opaque", value, sizeof value) == 1 && value[0] == 'y') ||
         (fgetxattr(directory, "user.overlay.opaque", value, sizeof value) == 1 && value[0] == 'y');
}
