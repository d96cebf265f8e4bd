#include "store.h"
#include "btrfs.h"
#include "numbers.h"
#include "store-trees.h"
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

static bool do_create(char **arguments, struct failure *failure) { return btrfs_create_subvolume(arguments[0], failure); }

static bool do_delete(char **arguments, struct failure *failure) { return btrfs_delete_subvolume(arguments[0], failure); }

static bool do_snapshot(char **arguments, struct failure *failure) {
  bool read_only = arguments[2] && strcmp(arguments[2], "ro") == 0;
  if (arguments[2] && !read_only) return fail_with(failure, EINVAL, "snapshot: %s is unknown", arguments[2]);
  if (!btrfs_snapshot(arguments[0], arguments[1], read_only, failure)) return false;
  // What the source had written is counted when a transaction ends, and the snapshot has just ended one.
  struct failure ignored;
  uint64_t bytes;
  printf("%llu\n", btrfs_usage(arguments[0], &bytes, &ignored) ? (unsigned long long)bytes : 0ull);
  return true;
}

static bool do_clone(char **arguments, struct failure *failure) {
  uint64_t bytes;
  if (!parse_number(arguments[2], 10, UINT64_MAX, &bytes)) return fail_with(failure, EINVAL, "clone: %s is no number", arguments[2]);
  return btrfs_clone(arguments[0], arguments[1], bytes, failure);
}

static bool do_copy(char **arguments, struct failure *failure) {
  uint64_t process, base;
  if (!parse_number(arguments[0], 10, INT32_MAX, &process) || !parse_number(arguments[3], 10, UINT32_MAX, &base))
    return fail_with(failure, EINVAL, "copy: bad numbers");
  return store_copy((int)process, arguments[1], arguments[2], (uint32_t)base, failure);
}

static bool do_remove(char **arguments, struct failure *failure) { return store_remove(arguments[0], failure); }

static bool do_pack(char **arguments, struct failure *failure) { return store_pack(arguments[0], failure); }

static bool do_unpack(char **arguments, struct failure *failure) { return store_unpack(arguments[0], failure); }

static bool do_bytes(char **arguments, struct failure *failure) {
  (void)failure;
  printf("%llu\n", (unsigned long long)store_bytes(arguments[0]));
  return true;
}

static bool do_quota(char **arguments, struct failure *failure) { return btrfs_enable_quota(arguments[0], failure); }

static bool do_limit(char **arguments, struct failure *failure) {
  uint64_t bytes;
  if (!parse_number(arguments[1], 10, UINT64_MAX, &bytes)) return fail_with(failure, EINVAL, "limit: %s is no number", arguments[1]);
  return btrfs_limit(arguments[0], bytes, failure);
}

static bool do_usage(char **arguments, struct failure *failure) {
  uint64_t bytes;
  if (!btrfs_usage(arguments[0], &bytes, failure)) return false;
  printf("%llu\n", (unsigned long long)bytes);
  return true;
}

static bool do_statfs(char **arguments, struct failure *failure) {
  struct statfs status;
  if (statfs(arguments[0], &status) != 0) return fail_with(failure, errno, "statfs %s", arguments[0]);
  unsigned long long unit = (unsigned long long)status.f_bsize;
  printf("{\"type\":\"%s\",\"magic\":%lu,\"totalBytes\":%llu,\"freeBytes\":%llu,\"availableBytes\":%llu}\n",
         btrfs_is(arguments[0]) ? "btrfs" : "other", (unsigned long)(uint32_t)status.f_type, status.f_blocks * unit,
         status.f_bfree * unit, status.f_bavail * unit);
  return true;
}

static const struct {
  const char *word;
  int least, most;
  bool (*run)(char **arguments, struct failure *failure);
  const char *usage;
} OPERATIONS[] = {
    {"subvolume-create", 1, 1, do_create, "PATH"},
    {"subvolume-delete", 1, 1, do_delete, "PATH"},
    {"snapshot", 2, 3, do_snapshot, "SOURCE TARGET [ro]"},
    {"clone", 3, 3, do_clone, "SOURCE TARGET BYTES"},
    {"copy", 4, 4, do_copy, "PROCESS SOURCE TARGET IDS"},
    {"remove", 1, 1, do_remove, "PATH"},
    {"pack", 1, 1, do_pack, "DIRECTORY"},
    {"unpack", 1, 1, do_unpack, "DIRECTORY"},
    {"bytes", 1, 1, do_bytes, "PATH"},
    {"quota-enable", 1, 1, do_quota, "MOUNT"},
    {"limit", 2, 2, do_limit, "PATH BYTES"},
    {"usage", 1, 1, do_usage, "PATH"},
    {"statfs", 1, 1, do_statfs, "PATH"},
};
#define OPERATION_COUNT (sizeof OPERATIONS / sizeof *OPERATIONS)

// argv: "store", the operation, its arguments. 0, 1 after "ERRNO text" on standard error, 2 when called wrongly.
int store_main(int argc, char **argv) {
  for (size_t i = 0; argc > 1 && i < OPERATION_COUNT; i++) {
    if (strcmp(argv[1], OPERATIONS[i].word) != 0) continue;
    if (argc - 2 < OPERATIONS[i].least || argc - 2 > OPERATIONS[i].most) break;
    struct failure failure = {0};
    if (OPERATIONS[i].run(argv + 2, &failure)) return 0;
    fprintf(stderr, "%d %s: %s\n", failure.number, failure.what, strerror(failure.number));
    return 1;
  }
  for (size_t i = 0; i < OPERATION_COUNT; i++) fprintf(stderr, "store %s %s\n", OPERATIONS[i].word, OPERATIONS[i].usage);
  return 2;
}
