#include "users.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATABASE_LIMIT (1u << 20)

static char default_wanted[128];

// Tells one state of a file from another.
struct stamp {
  struct timespec changed;
  off_t size;
  ino_t inode;
};

// The last answer, good as long as neither file changed: a command must not pay for reading them again.
static struct {
  bool valid;
  char wanted[128];
  struct stamp passwd, group;
  struct user user;
} cache;

struct text {
  uint8_t *bytes;
  uint32_t length;
};

// Regular files only, never blocking, bounded: the sandbox may have put anything there.
static struct text read_database(const char *path) {
  struct text text = {NULL, 0};
  int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) return text;
  struct stat status;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size <= DATABASE_LIMIT) {
    text.bytes = malloc((size_t)status.st_size);
    ssize_t count = text.bytes ? read(descriptor, text.bytes, (size_t)status.st_size) : 0;
    text.length = count > 0 ? (uint32_t)count : 0;
  }
  close(descriptor);
  return text;
}

static void stamp_of(const char *path, struct stamp *stamp) {
  struct stat status;
  memset(stamp, 0, sizeof *stamp);
  if (stat(path, &status) != 0) return;
  stamp->changed = status.st_ctim;
  stamp->size = status.st_size;
  stamp->inode = status.st_ino;
}

static bool parse_id(const char *text, uint32_t *number) {
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || value >= UINT32_MAX) return false;
  *number = (uint32_t)value;
  return true;
}

static int look_up(const char *wanted, struct user *user, struct slice passwd, struct slice group) {
  char name[128];
  snprintf(name, sizeof name, "%s", wanted);
  char *colon = strchr(name, ':');
  if (colon) *colon = 0;
  uint32_t number = getuid();
  bool by_number = name[0] == 0 || parse_id(name, &number);
  if (!passwd_find(passwd, slice_of(name), by_number, number, user)) {
    if (!by_number) return ENOENT;
    user->uid = number;
    user->gid = number == getuid() ? getgid() : number;
    snprintf(user->name, sizeof user->name, "%s", number == 0 ? "root" : "");
    snprintf(user->home, sizeof user->home, "%s", number == 0 ? "/root" : "/");
    snprintf(user->shell, sizeof user->shell, "/bin/sh");
  }
  if (name[0] == 0) user->gid = getgid();
  if (colon && !group_find(group, slice_of(colon + 1), &user->gid)) return ENOENT;
  if (user->name[0]) group_collect(group, user->name, user);
  return 0;
}

int users_find(struct slice wanted, struct user *user) {
  char text[128];
  if (wanted.length >= sizeof text || (wanted.length && memchr(wanted.bytes, 0, wanted.length))) return EINVAL;
  snprintf(text, sizeof text, "%.*s", (int)wanted.length, (const char *)wanted.bytes);
  if (text[0] == 0) snprintf(text, sizeof text, "%s", default_wanted);
  struct stamp passwd_stamp, group_stamp;
  stamp_of("/etc/passwd", &passwd_stamp);
  stamp_of("/etc/group", &group_stamp);
  if (cache.valid && strcmp(cache.wanted, text) == 0 && memcmp(&cache.passwd, &passwd_stamp, sizeof passwd_stamp) == 0 &&
      memcmp(&cache.group, &group_stamp, sizeof group_stamp) == 0) {
    *user = cache.user;
    return 0;
  }
  *user = (struct user){0};
  struct text passwd = read_database("/etc/passwd"), group = read_database("/etc/group");
  int error = look_up(text, user, (struct slice){passwd.bytes, passwd.length}, (struct slice){group.bytes, group.length});
  free(passwd.bytes);
  free(group.bytes);
  if (error) return error;
  cache.valid = true;
  snprintf(cache.wanted, sizeof cache.wanted, "%s", text);
  cache.passwd = passwd_stamp;
  cache.group = group_stamp;
  cache.user = *user;
  return 0;
}

bool users_is_default(struct slice wanted) {
  return strlen(default_wanted) == wanted.length && memcmp(default_wanted, wanted.bytes, wanted.length) == 0;
}

void users_set_default(struct slice wanted) {
  if (wanted.length >= sizeof default_wanted) return;
  snprintf(default_wanted, sizeof default_wanted, "%.*s", (int)wanted.length, (const char *)wanted.bytes);
}

// The guest never changes who it is.
bool users_is_own(const struct user *user) {
  static enum { UNKNOWN, KNOWN } own;
  static uid_t uid;
  static gid_t gid;
  if (own == UNKNOWN) {
    uid = getuid();
    gid = getgid();
    own = KNOWN;
  }
  return user->uid == uid && user->gid == gid;
}

static bool find_can_switch(void) {
  if (geteuid() != 0) return false;
  FILE *map = fopen("/proc/self/uid_map", "re");
  if (!map) return true;
  unsigned long inside, outside, count, total = 0;
  while (fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3) total += count;
  fclose(map);
  return total > 1;
}

// The mapping of a user namespace is written once, before anything runs in it.
bool users_can_switch(void) {
  static enum { UNKNOWN, NO, YES } known;
  if (known == UNKNOWN) known = find_can_switch() ? YES : NO;
  return known == YES;
}
