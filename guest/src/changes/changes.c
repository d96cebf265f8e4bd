#define _GNU_SOURCE
#include "changes/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "changes/chosen.h"
#include "changes/send.h"
#include "changes/walk.h"

#define CHOSEN_BYTES (64u << 20)

struct request {
  struct walk walk;
  struct merged before, after;
  dev_t devices[2 * MERGED_LAYERS];
  ino_t inodes[2 * MERGED_LAYERS];
  int layers;
  const char *send_before, *send_after, *prefix;
  uint64_t touched_limit;
  struct selection chosen, touched;
};

// One number for each directory: both stacks name the layers that they share.
static int layer_number(struct request *request, const struct stat *status) {
  for (int i = 0; i < request->layers; i++) {
    if (request->devices[i] == status->st_dev && request->inodes[i] == status->st_ino) return i;
  }
  request->devices[request->layers] = status->st_dev;
  request->inodes[request->layers] = status->st_ino;
  return request->layers++;
}

static int add_layer(struct request *request, struct merged *stack, const char *path) {
  if (stack->count == MERGED_LAYERS) return E2BIG;
  int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0 || fstat(descriptor, &status) != 0) return errno;
  stack->parts[stack->count++] = (struct part){descriptor, layer_number(request, &status)};
  return 0;
}

static bool take_number(const char *value, uint64_t *number) {
  char *end;
  errno = 0;
  *number = strtoull(value, &end, 10);
  return *value >= '0' && *value <= '9' && *end == 0 && errno == 0;
}

static int take_limit(struct request *request, const char *word, const char *value) {
  const struct {
    const char *word;
    uint64_t *number;
  } numbers[] = {{"entries", &request->walk.entry_limit},
                 {"changes", &request->walk.change_limit},
                 {"touched", &request->touched_limit},
                 {"compare-file", &request->walk.reading.file_limit},
                 {"compare-all", &request->walk.reading.left},
                 {"content-file", &request->walk.content_limit},
                 {"content-all", &request->walk.content_left}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(word, numbers[i].word) != 0) continue;
    if (numbers[i].number == &request->walk.content_limit) request->walk.with_content = true;
    return take_number(value, numbers[i].number) ? 0 : EINVAL;
  }
  return EINVAL;
}

static int take_attributes(struct request *request, const char *value) {
  static const char *const words[] = {[OVERLAY_TRUSTED] = "trusted", [OVERLAY_USER] = "user", [OVERLAY_NONE] = "none"};
  for (int i = 0; i < 3; i++) {
    if (strcmp(value, words[i]) != 0) continue;
    request->walk.attributes = (enum overlay_attributes)i;
    return 0;
  }
  return EINVAL;
}

static int take_word(struct request *request, char *word) {
  char *value = strchr(word, '=');
  if (!value) return EINVAL;
  *value++ = 0;
  if (strcmp(word, "before") == 0) return add_layer(request, &request->before, value);
  if (strcmp(word, "after") == 0) return add_layer(request, &request->after, value);
  if (strcmp(word, "send-before") == 0) request->send_before = value;
  else if (strcmp(word, "send-after") == 0) request->send_after = value;
  else if (strcmp(word, "prefix") == 0) request->prefix = value;
  else if (strcmp(word, "attributes") == 0) return take_attributes(request, value);
  else return take_limit(request, word, value);
  return 0;
}

static int read_chosen(struct selection *chosen) {
  char *bytes = NULL;
  size_t length = 0, room = 0;
  for (ssize_t count = 1; count > 0; length += (size_t)count) {
    if (length == room) {
      char *larger = room < CHOSEN_BYTES ? realloc(bytes, room = room ? room * 2 : 65536) : NULL;
      if (!larger) {
        free(bytes);
        return E2BIG;
      }
      bytes = larger;
    }
    count = read(STDIN_FILENO, bytes + length, room - length);
    if (count < 0) count = 0;
  }
  int error = chosen_parse(chosen, bytes, length);
  free(bytes);
  return error;
}

static void allow_deep_trees(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Without the send stream, or when it cannot be had, the walk finds out by itself.
static struct cursor find_touched(struct request *request) {
  request->touched.limit = request->touched_limit;
  if (!request->send_before || !request->send_after || !request->prefix) return CURSOR_EVERYTHING;
  if (send_touched(request->send_before, request->send_after, request->prefix, &request->touched) != 0) return CURSOR_EVERYTHING;
  selection_sort(&request->touched);
  return cursor_start(&request->touched);
}

static int run(struct request *request) {
  int error = read_chosen(&request->chosen);
  if (error) return error;
  allow_deep_trees();
  struct cursor chosen = request->chosen.count ? cursor_start(&request->chosen) : CURSOR_EVERYTHING;
  return walk_changes(&request->walk, &request->before, &request->after, chosen, find_touched(request));
}

int changes_main(int argc, char **argv) {
  static struct request request = {.walk = {.entry_limit = UINT64_MAX, .change_limit = UINT64_MAX}, .touched_limit = 1000000};
  static struct buffered_output writer = {.output = STDOUT_FILENO};
  request.walk.writer = &writer;
  for (int i = 1; i < argc; i++) {
    int error = take_word(&request, argv[i]);
    if (!error) continue;
    fprintf(stderr, "%d changes %s: %s\n", error, argv[i], strerror(error));
    return error == EINVAL ? 2 : 1;
  }
  int error = run(&request);
  selection_free(&request.chosen);
  selection_free(&request.touched);
  merged_release(&request.before);
  merged_release(&request.after);
  return record_end(&writer, (uint32_t)error, request.walk.path, request.walk.changes) == 0 ? 0 : 1;
}
