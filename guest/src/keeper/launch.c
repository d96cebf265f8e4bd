#include "launch.h"
#include "files.h"
#include "steps.h"
#include <errno.h>
#include <stdlib.h>

size_t string_list_length(char *const *list) {
  size_t count = 0;
  while (list[count]) count++;
  return count;
}

char **string_list_of(struct slice_list list) {
  // Every string came with four bytes of length, so that its terminator is covered by the list's own length.
  char **pointers = malloc((list.count + 1) * sizeof *pointers + list.length + 1);
  if (!pointers) return NULL;
  char *text = (char *)(pointers + list.count + 1);
  uint32_t count = list.count;
  for (uint32_t i = 0; i < count; i++) {
    struct slice item = slice_list_next(&list);
    if (item.length > 0 && memchr(item.bytes, 0, item.length)) {
      free(pointers);
      return NULL;
    }
    pointers[i] = text;
    if (item.length > 0) memcpy(text, item.bytes, item.length);
    text[item.length] = 0;
    text += item.length + 1;
  }
  pointers[count] = NULL;
  return pointers;
}

char *text_of(struct slice slice) {
  if (slice.length > 0 && memchr(slice.bytes, 0, slice.length)) return NULL;
  char *text = malloc(slice.length + 1);
  if (!text) return NULL;
  if (slice.length > 0) memcpy(text, slice.bytes, slice.length);
  text[slice.length] = 0;
  return text;
}

static bool check(const struct launch *launch, struct failure *failure) {
  if (launch->directory[0] != '/') return fail_with(failure, EINVAL, "directory: an absolute path is expected");
  if (!launch->argv[0] || launch->argv[0][0] != '/') return fail_with(failure, EINVAL, "argv: an absolute path is expected");
  if (launch->cleanup[0] && launch->cleanup[0][0] != '/') return fail_with(failure, EINVAL, "cleanup: an absolute path is expected");
  if (string_list_length(launch->writes) % 2 != 0) return fail_with(failure, EINVAL, "writes: pairs of a file and a text are expected");
  if (launch->flags & ~(uint32_t)(LAUNCH_INSIDE_NAMESPACE | LAUNCH_ROOTLESS | LAUNCH_NO_MEMBARRIER | LAUNCH_AHEAD | LAUNCH_LANE)) return fail_with(failure, EINVAL, "flags: unknown");
  if ((uint64_t)launch->id_base + launch->id_count > UINT32_MAX) return fail_with(failure, EINVAL, "idBase, idCount: out of range");
  bool rootless = launch->flags & LAUNCH_ROOTLESS;
  bool inside = launch->flags & LAUNCH_INSIDE_NAMESPACE;
  if (rootless && inside) return fail_with(failure, EINVAL, "flags: 1 and 2 exclude each other");
  if (!inside && launch->flags & LAUNCH_AHEAD) return fail_with(failure, EINVAL, "flags: 8 needs 1");
  if (inside && launch->id_count == 0) return fail_with(failure, EINVAL, "flags: 1 needs idCount");
  if (rootless && launch->id_count > 1) return fail_with(failure, EINVAL, "flags: 2 maps one id");
  return files_check(launch->files, failure) && steps_check(launch->steps, launch->id_count > 0 && !rootless, failure);
}

bool launch_decode(struct slice payload, struct launch *launch, struct failure *failure) {
  struct message_keeper_launch message;
  if (!decode_keeper_launch(payload, &message)) return fail_with(failure, EPROTO, "KeeperLaunch: malformed");
  *launch = (struct launch){
      .directory = text_of(message.directory),
      .argv = string_list_of(message.argv),
      .environment = string_list_of(message.environment),
      .steps = string_list_of(message.steps),
      .writes = string_list_of(message.writes),
      .files = string_list_of(message.files),
      .cleanup = string_list_of(message.cleanup),
      .id_base = message.id_base,
      .id_count = message.id_count,
      .flags = message.flags,
  };
  if (!launch->directory || !launch->argv || !launch->environment || !launch->steps || !launch->writes || !launch->files ||
      !launch->cleanup)
    return fail_with(failure, EINVAL, "KeeperLaunch: a zero byte in a string, or no memory");
  return check(launch, failure);
}

void launch_release(struct launch *launch) {
  free(launch->directory);
  free(launch->argv);
  free(launch->steps);
  free(launch->writes);
  free(launch->files);
  launch->directory = NULL;
  launch->argv = launch->steps = launch->writes = launch->files = NULL;
}
