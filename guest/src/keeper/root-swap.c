#define _GNU_SOURCE
#include "root-swap.h"
#include "descendants.h"
#include "launch.h"
#include "namespace.h"
#include "system-calls.h"
#include "text-file.h"
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

// Where the root that it serves lies in its own file system: gVisor's gofer changes into it when it has put everything there.
#define SERVED "/root"
#define BINDS 16

static pid_t find_process(pid_t runtime, const char *name) {
  struct process_list all = {0};
  pid_t found = -1;
  if (descendants_list_of(runtime, &all))
    for (size_t i = 0; i < all.count && found < 0; i++) {
      char path[64], command[256];
      snprintf(path, sizeof path, "/proc/%d/cmdline", all.pids[i]);
      // Arguments end with a zero byte, so that the first is a string by itself.
      if (text_file_get(path, command, sizeof command) > 0 && strcmp(command, name) == 0) found = all.pids[i];
    }
  free(all.pids);
  return found;
}

struct bound {
  int tree;
  bool is_directory;
};

static bool open_binds(char *const *binds, struct bound *bounds, struct failure *failure) {
  for (size_t i = 0; binds[2 * i]; i++) {
    struct stat status;
    struct mount_attributes attributes = {.set = ATTRIBUTE_READ_ONLY};
    bounds[i].tree = call_open_tree(binds[2 * i], 0);
    if (bounds[i].tree < 0 || call_mount_setattr(bounds[i].tree, 0, &attributes) != 0 || fstat(bounds[i].tree, &status) != 0)
      return fail_with(failure, errno, "root: %s", binds[2 * i]);
    bounds[i].is_directory = S_ISDIR(status.st_mode);
  }
  return true;
}

// Missing directories above a place, and the place itself.
static bool make_place(const char *place, bool is_directory, struct failure *failure) {
  char path[PATH_MAX];
  if ((size_t)snprintf(path, sizeof path, "%s", place) >= sizeof path) return fail_with(failure, ENAMETOOLONG, "root: a place in it");
  for (char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
    *end = 0;
    if (mkdir(path, 0755) != 0 && errno != EEXIST) return fail_with(failure, errno, "root: mkdir %s", path);
    *end = '/';
  }
  if (is_directory) return mkdir(path, 0755) == 0 || errno == EEXIST || fail_with(failure, errno, "root: mkdir %s", path);
  int file = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
  if (file < 0) return fail_with(failure, errno, "root: %s", path);
  close(file);
  return true;
}

// SAFETY: what lies in the new root was written by untrusted code. From pivot_root on it is this process's own root, so that no link in it leads
// outside; and nobody else writes in it yet.
static bool put_binds(char *const *binds, const struct bound *bounds, struct failure *failure) {
  for (size_t i = 0; binds[2 * i]; i++) {
    const char *place = binds[2 * i + 1];
    if (!make_place(place, bounds[i].is_directory, failure)) return false;
    if (call_move_mount(bounds[i].tree, place) != 0) return fail_with(failure, errno, "root: mount on %s", place);
  }
  return true;
}

static bool enter(pid_t process, struct failure *failure) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)process);
  int mounts = open(path, O_RDONLY | O_CLOEXEC);
  bool entered = mounts >= 0 && setns(mounts, CLONE_NEWNS) == 0;
  if (!entered || chroot(SERVED) != 0 || chdir("/") != 0) return fail_with(failure, errno, "root: the file system of the server");
  return true;
}

// pivot_root gives the new root to every process of the mount namespace whose root was the old one: the server among them.
static bool pivot_to(int tree, struct failure *failure) {
  if (call_move_mount(tree, "/") != 0 || fchdir(tree) != 0) return fail_with(failure, errno, "root: mount");
  if (syscall(SYS_pivot_root, ".", ".") != 0) return fail_with(failure, errno, "root: pivot_root");
  if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) return fail_with(failure, errno, "root: the old one");
  return true;
}

bool root_swap(const struct root_swap *swap, struct failure *failure) {
  struct bound bounds[BINDS];
  if (string_list_length(swap->binds) / 2 > BINDS) return fail_with(failure, E2BIG, "root: too many mounts");
  pid_t process = find_process(swap->runtime, swap->name);
  if (process < 0) return fail_with(failure, ESRCH, "root: no %s", swap->name);
  int tree = call_open_tree(swap->root, TREE_RECURSIVE);
  if (tree < 0) return fail_with(failure, errno, "root: %s", swap->root);
  return open_binds(swap->binds, bounds, failure) && enter(process, failure) && pivot_to(tree, failure) &&
         user_namespace_enter(swap->user_namespace, failure) && put_binds(swap->binds, bounds, failure);
}
