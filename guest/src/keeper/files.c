#define _GNU_SOURCE
#include "files.h"
#include "numbers.h"
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LATE '+'
#define SOCKET 's'
#define BACKLOG 4

struct number {
  int descriptor;
  char kind; // LATE, SOCKET or 0
};

static bool parse(const char *text, struct number *number) {
  char digits[8] = "";
  size_t length = strlen(text);
  number->kind = length > 0 && (text[length - 1] == LATE || text[length - 1] == SOCKET) ? text[length - 1] : 0;
  if (number->kind) length--;
  if (length >= sizeof digits) return false;
  memcpy(digits, text, length);
  uint64_t value;
  bool valid = parse_number(digits, 10, FILE_NUMBER_LAST, &value) && value >= FILE_NUMBER_FIRST;
  number->descriptor = (int)value;
  return valid;
}

bool files_check(char *const *files, struct failure *failure) {
  struct number number;
  size_t count = 0;
  for (; files[count]; count += 2) {
    const char *path = files[count + 1];
    if (!path) return fail_with(failure, EINVAL, "files: pairs of a number and a path are expected");
    if (!parse(files[count], &number))
      return fail_with(failure, EINVAL, "files: %.20s is not a descriptor from %d to %d", files[count], FILE_NUMBER_FIRST, FILE_NUMBER_LAST);
    if (number.kind == SOCKET && (!*path || strchr(path, '/') || *path == '.')) return fail_with(failure, EINVAL, "files: %.60s is no name of a socket", path);
  }
  return count / 2 <= FILE_NUMBER_LAST || fail_with(failure, E2BIG, "files: too many");
}

int listen_on(const char *name, int flags, struct failure *failure) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(name) >= sizeof address.sun_path) {
    fail_with(failure, ENAMETOOLONG, "%s", name);
    return -1;
  }
  strcpy(address.sun_path, name);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  unlink(name);
  mode_t before = umask(0177);
  bool ready = listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, BACKLOG) == 0;
  int number = errno;
  umask(before);
  if (ready) return listener;
  if (listener >= 0) close(listener);
  fail_with(failure, number, "%s", name);
  return -1;
}

int file_lift(int descriptor) { return fcntl(descriptor, F_DUPFD_CLOEXEC, FILE_NUMBER_LAST + 1); }

bool files_open(char *const *files, enum file_moment moment, int *opened, struct failure *failure) {
  for (size_t i = 0; files[2 * i]; i++) {
    struct number number;
    const char *path = files[2 * i + 1];
    parse(files[2 * i], &number);
    if ((number.kind == LATE) != (moment == AFTER_STEPS)) continue;
    int descriptor = number.kind == SOCKET ? listen_on(path, 0, failure) : open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return number.kind != SOCKET && fail_with(failure, errno, "files: open %s", path);
    opened[i] = file_lift(descriptor);
    if (opened[i] < 0) return fail_with(failure, errno, "files: %s", path);
    close(descriptor);
  }
  return true;
}

bool files_place(char *const *files, const int *opened, struct failure *failure) {
  for (size_t i = 0; files[2 * i]; i++) {
    struct number number;
    parse(files[2 * i], &number);
    if (dup2(opened[i], number.descriptor) < 0) return fail_with(failure, errno, "files: descriptor %s", files[2 * i]);
  }
  return true;
}
