#define _GNU_SOURCE
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEVICE_PATIENCE 5000  // milliseconds until a disk must have appeared

// An existing mount is as good as a new one.
static bool mount_on(const char *type, const char *target, unsigned long flags, const char *data) {
  mkdir(target, 0755);
  return mount(type, target, type, flags, data) == 0 || errno == EBUSY;
}

bool mounts_kernel_interfaces(void) {
  return mount_on("proc", "/proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) && mount_on("sysfs", "/sys", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) &&
         mount_on("devtmpfs", "/dev", MS_NOSUID, "mode=0755");
}

static bool wait_for(const char *device) {
  struct stat status;
  for (int waited = 0; stat(device, &status) != 0; waited += 2) {
    if (waited > DEVICE_PATIENCE) return false;
    nanosleep(&(struct timespec){0, 2000000}, NULL);
  }
  return true;
}

static bool mount_disk(const char *device, const char *target, const char *type, unsigned long flags, const char *data) {
  mkdir(target, 0755);
  return wait_for(device) && mount(device, target, type, flags, data) == 0;
}

// The disk of changes is used by no other kernel after this one: nothing has to be on it before its time. A file that replaces another by
// its name, as every upload does, would otherwise be written to the disk at once. Nor does a thread of the kernel clear what nobody has written.
static const char *upper_options(const char *type) { return strcmp(type, "ext4") == 0 ? "noauto_da_alloc,nobarrier,noinit_itable" : NULL; }

static int changes = -1;

int mounts_changes(void) { return changes; }

static int layers[2] = {-1, -1};

int mounts_layer(int number) { return layers[number]; }

// The upper disk holds both directories that overlayfs wants on one file system. Without one the changes live in memory.
static bool mount_upper(const struct command_line *line) {
  bool mounted = line->upper[0] ? mount_disk(line->upper, "/upper", line->upper_type, MS_NOATIME, upper_options(line->upper_type))
                                : mount_on("tmpfs", "/upper", 0, "mode=0755");
  if (!mounted) return false;
  if (line->upper[0]) changes = open("/upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  mkdir("/upper/upper", 0755);
  mkdir("/upper/work", 0700);
  layers[0] = open("/upper/upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  layers[1] = open("/base", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  mkdir("/root-of-sandbox", 0755);
  return mount("overlay", "/root-of-sandbox", "overlay", MS_NOATIME, "lowerdir=/base,upperdir=/upper/upper,workdir=/upper/work") == 0;
}

static bool move_into_root(const char *name) {
  char target[64];
  snprintf(target, sizeof target, "/root-of-sandbox%s", name);
  mkdir(target, 0755);
  return mount(name, target, NULL, MS_MOVE, NULL) == 0;
}

static void link_device(const char *target, const char *name) {
  if (symlink(target, name) != 0 && errno != EEXIST) fprintf(stderr, "hearth-guest: %s: %s\n", name, strerror(errno));
}

static void finish_devices(void) {
  mount_on("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "mode=0620,gid=5,ptmxmode=0666");
  mount_on("tmpfs", "/dev/shm", MS_NOSUID | MS_NODEV, "mode=1777");
  mount_on("mqueue", "/dev/mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
  link_device("/proc/self/fd", "/dev/fd");
  link_device("/proc/self/fd/0", "/dev/stdin");
  link_device("/proc/self/fd/1", "/dev/stdout");
  link_device("/proc/self/fd/2", "/dev/stderr");
  chmod("/dev/ptmx", 0666);
}

// As switch_root does, but without executing anything: this process stays the init.
static bool enter_root(void) {
  if (!move_into_root("/dev") || !move_into_root("/proc") || !move_into_root("/sys")) return false;
  if (chdir("/root-of-sandbox") != 0 || mount(".", "/", NULL, MS_MOVE, NULL) != 0) return false;
  return chroot(".") == 0 && chdir("/") == 0;
}

bool mounts_root(const struct command_line *line) {
  if (!mount_disk(line->base, "/base", line->base_type, MS_RDONLY | MS_NOATIME, NULL)) return false;
  if (!mount_upper(line) || !enter_root()) return false;
  finish_devices();
  mkdir("/tmp", 01777);
  chmod("/tmp", 01777);
  mkdir("/run", 0755);
  mount_on("tmpfs", "/run", MS_NOSUID | MS_NODEV, "mode=0755");
  return true;
}
