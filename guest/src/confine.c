#define _GNU_SOURCE
#include "confine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "confine-filter.h"
#include "kernel-capabilities.h"
#include "raw-calls.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#define FILTER_MODE 2
#define LANDLOCK_VERSION 1u
#define LANDLOCK_WITH_REFER 2
#define LANDLOCK_PATH_BENEATH 1
#define ACCESS_REFER (1ull << 13)
#define RECURSIVELY 0x8000u
#define READ_ONLY 1ull
static int landlock_version(void) { return (int)raw_call(SYS_landlock_create_ruleset, 0, 0, LANDLOCK_VERSION); }

// gVisor shows the memory of processes and lets nobody write it.
static bool memory_can_be_written(void) {
  static const char probe = 1;
  int descriptor = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return errno != EACCES && errno != EROFS;
  static char target;
  bool written = pwrite(descriptor, &probe, 1, (off_t)(uintptr_t)&target) == 1;
  close(descriptor);
  return written;
}

bool confine_is_possible(void) { return landlock_version() >= LANDLOCK_WITH_REFER || !memory_can_be_written(); }

// Whoever is in such a domain can neither trace what is outside nor open its memory. Nothing else is taken away: what every domain forbids by
// itself, moving a file between directories, is allowed everywhere.
static int enter_domain(void) {
  if (landlock_version() < LANDLOCK_WITH_REFER) return 0;
  const uint64_t handled = ACCESS_REFER;
  int rules = (int)raw_call(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
  if (rules < 0) return -rules;
  int root = (int)raw_call(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC);
  if (root < 0) return -root;
  struct __attribute__((packed)) {
    uint64_t allowed;
    int32_t parent;
  } beneath = {ACCESS_REFER, root};
  int error = (int)raw_call(SYS_landlock_add_rule, rules, LANDLOCK_PATH_BENEATH, &beneath, 0);
  if (!error) error = (int)raw_call(SYS_landlock_restrict_self, rules, 0);
  raw_call(SYS_close, root);
  raw_call(SYS_close, rules);
  return -error;
}

static int limit_capabilities(void) {
  for (int capability = 0; capability <= LAST_CAPABILITY; capability++) {
    if (COMMAND_CAPABILITIES & CAPABILITY_BIT(capability) || raw_call(SYS_prctl, PR_CAPBSET_READ, capability) != 1) continue;
    int error = (int)raw_call(SYS_prctl, PR_CAPBSET_DROP, capability);
    if (error) return -error;
  }
  return 0;
}

static int make_read_only(const char *path) {
  const uint64_t attributes[4] = {READ_ONLY};
  return (int)-raw_call(SYS_mount_setattr, AT_FDCWD, path, RECURSIVELY, attributes, sizeof attributes);
}

// The disks hold all files of the machine, whoever they belong to.
static int cover_disks(void) {
  int directory = (int)raw_call(SYS_openat, AT_FDCWD, "/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -directory;
  char entries[8192] __attribute__((aligned(8)));
  int error = 0;
  for (long length; !error && (length = raw_call(SYS_getdents64, directory, entries, sizeof entries)) != 0;) {
    if (length < 0) error = (int)-length;
    const struct dirent64 *entry;
    for (long at = 0; !error && at < length; at += entry->d_reclen) {
      entry = (const struct dirent64 *)(entries + at);
      char path[sizeof "/dev/" + 256] = "/dev/";
      if (entry->d_type != DT_BLK) continue;
      strcat(path, entry->d_name);
      error = (int)-raw_call(SYS_mount, "/dev/null", path, NULL, MS_BIND, NULL);
    }
  }
  raw_call(SYS_close, directory);
  return error;
}

// Root of a machine's own kernel could write a program's name into its settings, and the kernel would execute it elsewhere.
static int cover_kernel(void) {
  int error = (int)-raw_call(SYS_unshare, CLONE_NEWNS);
  if (!error) error = (int)-raw_call(SYS_mount, "/proc/sys", "/proc/sys", NULL, MS_BIND | MS_REC, NULL);
  if (!error) error = make_read_only("/proc/sys");
  if (!error) error = make_read_only("/sys");
  return error ? error : cover_disks();
}

int confine(bool own_kernel) {
  int error = own_kernel ? cover_kernel() : 0;
  if (!error) error = limit_capabilities();
  if (!error) error = (int)-raw_call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!error) error = enter_domain();
  return error ? error : (int)-raw_call(SYS_prctl, PR_SET_SECCOMP, FILTER_MODE, &confine_filter);
}
