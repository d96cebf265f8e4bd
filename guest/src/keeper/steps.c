#define _GNU_SOURCE
#include "steps.h"
#include "btrfs.h"
#include "btrfs-groups.h"
#include "clone-file.h"
#include "mounts.h"
#include "numbers.h"
#include "places.h"
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct step_context {
  int user_namespace;
  bool is_private;
  struct failure *failure;
};

struct operation {
  const char *word;
  int arguments;
  bool mounts;
  bool (*check)(char *const *arguments, bool can_map);
  bool (*run)(struct step_context *context, char *const *arguments);
};

// Takes one of a comma separated list of options off it. False at the end.
static bool next_option(const char **options, char word[16]) {
  if (**options == 0) return false;
  size_t length = strcspn(*options, ",");
  size_t kept = length < 15 ? length : 15;
  memcpy(word, *options, kept);
  word[kept] = 0;
  *options += length;
  if (**options == ',') (*options)++;
  return true;
}

static bool parse_bind_options(const char *text, struct bind_options *options) {
  char word[16];
  *options = (struct bind_options){0};
  while (next_option(&text, word)) {
    if (strcmp(word, "ro") == 0) options->read_only = true;
    else if (strcmp(word, "rec") == 0) options->recursive = true;
    else if (strcmp(word, "idmap") == 0) options->id_map = true;
    else if (strcmp(word, "inert") == 0) options->inert = true;
    else if (strcmp(word, "-") != 0) return false;
  }
  return true;
}

static bool parse_overlay_options(const char *text, struct overlay_options *options) {
  char word[16];
  *options = (struct overlay_options){0};
  while (next_option(&text, word)) {
    if (strcmp(word, "idmap") == 0) options->id_map = true;
    else if (strcmp(word, "userxattr") == 0) options->user_xattr = true;
    else if (strcmp(word, "-") != 0) return false;
  }
  return true;
}

static bool check_mkdir(char *const *arguments, bool can_map) {
  (void)can_map;
  uint64_t mode;
  return parse_number(arguments[1], 8, 07777, &mode);
}

// SAFETY: a root may hold what untrusted code has put there. A link in the place of a directory would lead the mounts that follow elsewhere.
static bool is_directory(const char *path) {
  struct stat status;
  if (lstat(path, &status) != 0) return false;
  errno = ENOTDIR;
  return S_ISDIR(status.st_mode);
}

static bool run_mkdir(struct step_context *context, char *const *arguments) {
  uint64_t mode;
  parse_number(arguments[1], 8, 07777, &mode);
  if (mkdir(arguments[0], 0700) != 0) return (errno == EEXIST && is_directory(arguments[0])) || fail_with(context->failure, errno, "mkdir %s", arguments[0]);
  // Not by mkdir itself, which heeds the umask.
  if (chmod(arguments[0], (mode_t)mode) != 0) return fail_with(context->failure, errno, "chmod %s", arguments[0]);
  return true;
}

static bool check_chown(char *const *arguments, bool can_map) {
  (void)can_map;
  uint64_t number;
  return parse_number(arguments[1], 10, UINT32_MAX - 1, &number) && parse_number(arguments[2], 10, UINT32_MAX - 1, &number);
}

static bool run_chown(struct step_context *context, char *const *arguments) {
  uint64_t user, group;
  parse_number(arguments[1], 10, UINT32_MAX - 1, &user);
  parse_number(arguments[2], 10, UINT32_MAX - 1, &group);
  if (lchown(arguments[0], (uid_t)user, (gid_t)group) != 0) return fail_with(context->failure, errno, "chown %s", arguments[0]);
  return true;
}

static bool check_subvolume(char *const *arguments, bool can_map) {
  (void)can_map;
  uint64_t bytes;
  return parse_number(arguments[1], 10, UINT64_MAX, &bytes);
}

static bool run_subvolume(struct step_context *context, char *const *arguments) {
  uint64_t bytes;
  parse_number(arguments[1], 10, UINT64_MAX, &bytes);
  return btrfs_ensure_subvolume(arguments[0], bytes, context->failure);
}

static bool run_copy(struct step_context *context, char *const *arguments) {
  return clone_file(arguments[0], arguments[1], context->failure);
}

static bool check_clone(char *const *arguments, bool can_map) {
  (void)can_map;
  uint64_t bytes;
  return parse_number(arguments[2], 10, UINT64_MAX, &bytes);
}

static bool run_clone(struct step_context *context, char *const *arguments) {
  uint64_t bytes;
  parse_number(arguments[2], 10, UINT64_MAX, &bytes);
  return btrfs_clone(arguments[0], arguments[1], bytes, context->failure);
}

static bool parse_group(char *const *arguments, uint64_t *group, uint64_t *bytes) {
  return parse_number(arguments[1], 10, ((uint64_t)1 << 48) - 1, group) && parse_number(arguments[2], 10, UINT64_MAX, bytes);
}

static bool check_group(char *const *arguments, bool can_map) {
  (void)can_map;
  uint64_t group, bytes;
  return parse_group(arguments, &group, &bytes);
}

static bool run_group(struct step_context *context, char *const *arguments) {
  uint64_t group, bytes = 0;
  parse_group(arguments, &group, &bytes);
  return btrfs_group_join(arguments[0], group, bytes, context->failure);
}

// Everybody may read from it who can come to it.
static bool run_fifo(struct step_context *context, char *const *arguments) {
  return mkfifo(arguments[0], 0644) == 0 || fail_with(context->failure, errno, "fifo %s", arguments[0]);
}

static bool check_bind(char *const *arguments, bool can_map) {
  struct bind_options options;
  return parse_bind_options(arguments[2], &options) && (can_map || !options.id_map);
}

static bool run_bind(struct step_context *context, char *const *arguments) {
  struct bind_options options;
  parse_bind_options(arguments[2], &options);
  return mount_bind(arguments[0], arguments[1], options, context->user_namespace, context->failure);
}

static bool check_overlay(char *const *arguments, bool can_map) {
  struct overlay_options options;
  // These separate the mount's own options; in a path they would add some.
  for (int i = 0; i < 4; i++)
    if (strpbrk(arguments[i], i == 1 ? ",\\" : ",:\\")) return false;
  return parse_overlay_options(arguments[4], &options) && (can_map || !options.id_map);
}

static bool run_overlay(struct step_context *context, char *const *arguments) {
  struct overlay_options options;
  parse_overlay_options(arguments[4], &options);
  return mount_overlay(arguments, options, context->user_namespace, context->failure);
}

static bool run_unlinked(struct step_context *context, char *const *arguments) {
  return place_check(arguments[0], arguments[1], context->failure);
}

static bool run_place(struct step_context *context, char *const *arguments) {
  return place_make(arguments[0], arguments[1], context->failure);
}

static bool run_tmpfs(struct step_context *context, char *const *arguments) {
  return mount_tmpfs(arguments[0], arguments[1], context->failure);
}

static const struct operation OPERATIONS[] = {
    {"mkdir", 2, false, check_mkdir, run_mkdir},
    {"chown", 3, false, check_chown, run_chown},
    {"subvolume", 2, false, check_subvolume, run_subvolume},
    {"copy", 2, false, NULL, run_copy},
    {"clone", 3, false, check_clone, run_clone},
    {"group", 3, false, check_group, run_group},
    {"fifo", 1, false, NULL, run_fifo},
    {"bind", 3, true, check_bind, run_bind},
    {"overlay", 5, true, check_overlay, run_overlay},
    {"tmpfs", 2, true, NULL, run_tmpfs},
    {"unlinked", 2, false, NULL, run_unlinked},
    {"place", 2, false, NULL, run_place},
};

static const struct operation *find_operation(const char *word) {
  for (size_t i = 0; i < sizeof OPERATIONS / sizeof *OPERATIONS; i++)
    if (strcmp(OPERATIONS[i].word, word) == 0) return &OPERATIONS[i];
  return NULL;
}

bool steps_check(char *const *steps, bool can_map, struct failure *failure) {
  while (*steps) {
    const struct operation *operation = find_operation(*steps);
    if (!operation) return fail_with(failure, EINVAL, "steps: %.40s is unknown", *steps);
    char *const *arguments = steps + 1;
    for (int i = 0; i < operation->arguments; i++)
      if (!arguments[i]) return fail_with(failure, EINVAL, "steps: %s lacks arguments", operation->word);
    if (operation->check && !operation->check(arguments, can_map))
      return fail_with(failure, EINVAL, "steps: %s %.100s: bad arguments", operation->word, arguments[0]);
    steps = arguments + operation->arguments;
  }
  return true;
}

bool steps_run(char *const *steps, int user_namespace, bool private_already, struct failure *failure) {
  struct step_context context = {user_namespace, private_already, failure};
  while (*steps) {
    const struct operation *operation = find_operation(*steps);
    if (operation->mounts && !context.is_private) {
      if (!mounts_make_private(failure)) return false;
      context.is_private = true;
    }
    if (!operation->run(&context, steps + 1)) return false;
    steps += 1 + operation->arguments;
  }
  return true;
}
