#include "text-file.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static bool write_and_close(int fd, const char *text, size_t length) {
  ssize_t written = write(fd, text, length);
  int number = written < 0 ? errno : EIO;
  close(fd);
  if (written == (ssize_t)length) return true;
  errno = number;
  return false;
}

bool text_file_put(const char *path, const char *text, size_t length) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  return fd >= 0 && write_and_close(fd, text, length);
}

bool text_file_replace(const char *name, const char *text, size_t length) {
  char temporary[NAME_MAX + 1];
  snprintf(temporary, sizeof temporary, "%s.new", name);
  int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  return fd >= 0 && write_and_close(fd, text, length) && rename(temporary, name) == 0;
}

long text_file_get(const char *path, char *text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  size_t length = 0;
  ssize_t count = 0;
  while (length < size - 1 && (count = read(fd, text + length, size - 1 - length)) > 0) length += (size_t)count;
  int number = errno;
  close(fd);
  text[length] = 0;
  errno = number;
  return count < 0 ? -1 : (long)length;
}
