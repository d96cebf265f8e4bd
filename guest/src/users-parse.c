// Lines of passwd and group. The text comes from the sandbox: any bytes, any length of line.
#include <stdio.h>

#include "users.h"

static struct slice next_part(struct slice *rest, uint8_t separator) {
  const uint8_t *end = rest->length ? memchr(rest->bytes, separator, rest->length) : NULL;
  uint32_t length = end ? (uint32_t)(end - rest->bytes) : rest->length;
  struct slice part = {rest->bytes, length};
  uint32_t taken = end ? length + 1 : length;
  rest->bytes += taken;
  rest->length -= taken;
  return part;
}

static bool same(struct slice a, struct slice b) { return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0); }

static bool parse_number(struct slice text, uint32_t *number) {
  uint64_t value = 0;
  if (text.length == 0 || text.length > 10) return false;
  for (uint32_t i = 0; i < text.length; i++) {
    if (text.bytes[i] < '0' || text.bytes[i] > '9') return false;
    value = value * 10 + (text.bytes[i] - '0');
  }
  // 2^32-1 means "leave it" to the kernel.
  if (value >= UINT32_MAX) return false;
  *number = (uint32_t)value;
  return true;
}

static void copy(char *target, size_t size, struct slice text) {
  size_t length = text.length < size - 1 ? text.length : size - 1;
  if (length) memcpy(target, text.bytes, length);
  target[length] = 0;
  // A zero byte in the file would cut the text here; that is fine, it only gets shorter.
}

bool passwd_find(struct slice text, struct slice name, bool by_number, uid_t number, struct user *user) {
  while (text.length) {
    struct slice line = next_part(&text, '\n');
    struct slice field[7];
    for (int i = 0; i < 7; i++) field[i] = next_part(&line, ':');
    uint32_t uid, gid;
    if (field[0].length == 0 || !parse_number(field[2], &uid) || !parse_number(field[3], &gid)) continue;
    if (by_number ? uid != number : !same(field[0], name)) continue;
    user->uid = uid;
    user->gid = gid;
    copy(user->name, sizeof user->name, field[0]);
    copy(user->home, sizeof user->home, field[5].length ? field[5] : slice_of("/"));
    copy(user->shell, sizeof user->shell, field[6].length ? field[6] : slice_of("/bin/sh"));
    return true;
  }
  return false;
}

bool group_find(struct slice text, struct slice name, gid_t *gid) {
  if (parse_number(name, gid)) return true;
  while (text.length) {
    struct slice line = next_part(&text, '\n');
    struct slice group = next_part(&line, ':');
    next_part(&line, ':');
    struct slice number = next_part(&line, ':');
    if (same(group, name) && parse_number(number, gid)) return true;
  }
  return false;
}

void group_collect(struct slice text, const char *member, struct user *user) {
  struct slice wanted = slice_of(member);
  while (text.length && user->group_count < GROUP_LIMIT) {
    struct slice line = next_part(&text, '\n');
    next_part(&line, ':');
    next_part(&line, ':');
    struct slice number = next_part(&line, ':');
    uint32_t gid;
    if (!parse_number(number, &gid) || gid == user->gid) continue;
    while (line.length) {
      if (!same(next_part(&line, ','), wanted)) continue;
      user->groups[user->group_count++] = gid;
      break;
    }
  }
}
