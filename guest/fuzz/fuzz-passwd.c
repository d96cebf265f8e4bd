// Arbitrary bytes as /etc/passwd and /etc/group.
#include "users.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  // The first byte says where passwd ends and group begins; a copy without a spare byte shows reads beyond the end.
  if (length == 0) return 0;
  size_t split = 1 + (length - 1) * bytes[0] / 256;
  uint8_t *passwd = malloc(split), *group = malloc(length - split + 1);
  memcpy(passwd, bytes + 1, split - 1);
  memcpy(group, bytes + split, length - split);
  struct slice passwd_text = {passwd, (uint32_t)(split - 1)}, group_text = {group, (uint32_t)(length - split)};
  struct user user = {0};
  gid_t gid;
  passwd_find(passwd_text, slice_of("root"), false, 0, &user);
  passwd_find(passwd_text, slice_of(""), true, 1000, &user);
  group_find(group_text, slice_of("wheel"), &gid);
  group_collect(group_text, "root", &user);
  if (user.group_count > GROUP_LIMIT || strlen(user.name) >= sizeof user.name || strlen(user.home) >= sizeof user.home) __builtin_trap();
  free(passwd);
  free(group);
  return 0;
}
