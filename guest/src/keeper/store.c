#define _GNU_SOURCE
#include "store.h"
#include "btrfs.h"
#include "btrfs-groups.h"
#include "numbers.h"
#include "store-trees.h"
#include "tree-record.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

// Where an operation prints what it found.
static FILE *result;

static bool do_create(char **arguments, struct failure *failure) { return btrfs_create_subvolume(arguments[0], failure); }

static bool do_delete(char **arguments, struct failure *failure) { return btrfs_delete_subvolume(arguments[0], failure); }

// A number that is no argument stands for none.
static bool parse_group(const char *text, uint64_t *group, struct failure *failure) {
  *group = 0;
  return !text || parse_number(text, 10, ((uint64_t)1 << 48) - 1, group) || fail_with(failure, EINVAL, "%s is no group", text);
}

static bool do_snapshot(char **arguments, struct failure *failure) {
  bool read_only = arguments[2] && strcmp(arguments[2], "ro") == 0;
  uint64_t group;
  if (arguments[2] && !read_only) return fail_with(failure, EINVAL, "snapshot: %s is unknown", arguments[2]);
  if (!parse_group(arguments[2] ? arguments[3] : NULL, &group, failure)) return false;
  if (!btrfs_snapshot(arguments[0], arguments[1], read_only, failure)) return false;
  // What the source had written is counted when a transaction ends, and the snapshot has just ended one.
  struct failure ignored;
  uint64_t bytes;
  fprintf(result, "%llu\n", btrfs_usage(arguments[0], group, &bytes, &ignored) ? (unsigned long long)bytes : 0ull);
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
  fprintf(result, "%llu\n", (unsigned long long)store_bytes(arguments[0]));
  return true;
}

static bool do_quota(char **arguments, struct failure *failure) { return btrfs_enable_quota(arguments[0], failure); }

static bool do_quota_state(char **arguments, struct failure *failure) {
  const char *state;
  if (!btrfs_quota_state(arguments[0], &state, failure)) return false;
  fprintf(result, "%s\n", state);
  return true;
}

static bool do_in_place_file(char **arguments, struct failure *failure) { return btrfs_make_in_place_file(arguments[0], failure); }

static bool do_limit(char **arguments, struct failure *failure) {
  uint64_t bytes;
  if (!parse_number(arguments[1], 10, UINT64_MAX, &bytes)) return fail_with(failure, EINVAL, "limit: %s is no number", arguments[1]);
  return btrfs_limit(arguments[0], bytes, failure);
}

static bool do_usage(char **arguments, struct failure *failure) {
  uint64_t bytes, group;
  if (!parse_group(arguments[1], &group, failure) || !btrfs_usage(arguments[0], group, &bytes, failure)) return false;
  fprintf(result, "%llu\n", (unsigned long long)bytes);
  return true;
}

static bool do_group_join(char **arguments, struct failure *failure) {
  uint64_t group, bytes;
  if (!parse_group(arguments[1], &group, failure)) return false;
  if (!parse_number(arguments[2], 10, UINT64_MAX, &bytes)) return fail_with(failure, EINVAL, "group-join: %s is no number", arguments[2]);
  return btrfs_group_join(arguments[0], group, bytes, failure);
}

static bool do_group_remove(char **arguments, struct failure *failure) {
  uint64_t group;
  return parse_group(arguments[1], &group, failure) && btrfs_group_remove(arguments[0], group, failure);
}

static bool do_groups_tidy(char **arguments, struct failure *failure) { return btrfs_groups_tidy(arguments[0], failure); }

static bool do_reclaim(char **arguments, struct failure *failure) { return btrfs_reclaim(arguments[0], failure); }

static bool do_sync(char **arguments, struct failure *failure) {
  int fd = open(arguments[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return fail_with(failure, errno, "sync %s", arguments[0]);
  bool done = syncfs(fd) == 0 || fail_with(failure, errno, "sync %s", arguments[0]);
  close(fd);
  return done;
}

static bool do_statfs(char **arguments, struct failure *failure) {
  struct statfs status;
  if (statfs(arguments[0], &status) != 0) return fail_with(failure, errno, "statfs %s", arguments[0]);
  unsigned long long unit = (unsigned long long)status.f_bsize;
  fprintf(result, "{\"type\":\"%s\",\"magic\":%lu,\"totalBytes\":%llu,\"freeBytes\":%llu,\"availableBytes\":%llu}\n",
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
    {"snapshot", 2, 4, do_snapshot, "SOURCE TARGET [ro [GROUP]]"},
    {"clone", 3, 3, do_clone, "SOURCE TARGET BYTES"},
    {"copy", 4, 4, do_copy, "PROCESS SOURCE TARGET IDS"},
    {"remove", 1, 1, do_remove, "PATH"},
    {"pack", 1, 1, do_pack, "DIRECTORY"},
    {"unpack", 1, 1, do_unpack, "DIRECTORY"},
    {"bytes", 1, 1, do_bytes, "PATH"},
    {"quota-enable", 1, 1, do_quota, "MOUNT"},
    {"quota", 1, 1, do_quota_state, "PATH"},
    {"in-place-file", 1, 1, do_in_place_file, "PATH"},
    {"limit", 2, 2, do_limit, "PATH BYTES"},
    {"usage", 1, 2, do_usage, "PATH [GROUP]"},
    {"group-join", 3, 3, do_group_join, "PATH GROUP BYTES"},
    {"group-remove", 2, 2, do_group_remove, "PATH GROUP"},
    {"groups-tidy", 1, 1, do_groups_tidy, "PATH"},
    {"reclaim", 1, 1, do_reclaim, "PATH"},
    {"statfs", 1, 1, do_statfs, "PATH"},
    {"sync", 1, 1, do_sync, "PATH"},
};
#define OPERATION_COUNT (sizeof OPERATIONS / sizeof *OPERATIONS)

// 0, 1 with the failure, or 2 when called wrongly. words: the operation, its arguments, and a NULL.
static int perform(int count, char **words, struct failure *failure) {
  for (size_t i = 0; count > 0 && i < OPERATION_COUNT; i++) {
    if (strcmp(words[0], OPERATIONS[i].word) != 0) continue;
    if (count - 1 < OPERATIONS[i].least || count - 1 > OPERATIONS[i].most) return 2;
    return OPERATIONS[i].run(words + 1, failure) ? 0 : 1;
  }
  return 2;
}

#define REQUEST_BYTES 65536
#define REQUEST_WORDS 8

// Splits words that each end with a zero byte. 0 when that is not what they are.
static int split(char *bytes, uint32_t length, char *words[REQUEST_WORDS + 1]) {
  int count = 0;
  if (length == 0 || bytes[length - 1] != 0) return 0;
  for (char *word = bytes; word < bytes + length; word += strlen(word) + 1) {
    if (count == REQUEST_WORDS) return 0;
    words[count++] = word;
  }
  words[count] = NULL;
  return count;
}

// Serves one request after the other until standard input ends: starting a process takes longer than most operations. A request is its length in
// 32 bits, little endian as all guests are, and words with a zero byte each; the answer its length and "0 RESULT" or "ERRNO TEXT".
static int serve(void) {
  static char request[REQUEST_BYTES];
  uint32_t length;
  while (stream_read(STDIN_FILENO, &length, sizeof length)) {
    char *words[REQUEST_WORDS + 1], *text = NULL;
    size_t size = 0;
    if (length > sizeof request || !stream_read(STDIN_FILENO, request, length)) return 1;
    struct failure failure = {EINVAL, "called wrongly"};
    result = open_memstream(&text, &size);
    if (!result) return 1;
    fputs("0 ", result);
    int status = perform(split(request, length, words), words, &failure);
    fclose(result);
    char failed[512];
    if (status != 0) size = (size_t)snprintf(failed, sizeof failed, "%d %s: %s", failure.number, failure.what, strerror(failure.number));
    length = (uint32_t)size;
    bool sent = stream_write(STDOUT_FILENO, &length, sizeof length) && stream_write(STDOUT_FILENO, status == 0 ? text : failed, size);
    free(text);
    if (!sent) return 1;
  }
  return 0;
}

// argv: "store", then `serve`, or an operation and its arguments. 0, 1 after "ERRNO text" on standard error, 2 when called wrongly.
int store_main(int argc, char **argv) {
  struct failure failure = {0};
  if (argc == 2 && strcmp(argv[1], "serve") == 0) return serve();
  result = stdout;
  int status = perform(argc - 1, argv + 1, &failure);
  if (status == 1) fprintf(stderr, "%d %s: %s\n", failure.number, failure.what, strerror(failure.number));
  for (size_t i = 0; status == 2 && i < OPERATION_COUNT; i++) fprintf(stderr, "store %s %s\n", OPERATIONS[i].word, OPERATIONS[i].usage);
  return status;
}
