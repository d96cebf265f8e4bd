#define _GNU_SOURCE
#include "port.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PORTS "/sys/class/virtio-ports"
#define PATIENCE 5000  // milliseconds

static bool has_name(const char *port, const char *wanted) {
  char path[320], text[64];
  snprintf(path, sizeof path, PORTS "/%s/name", port);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  ssize_t length = read(descriptor, text, sizeof text - 1);
  close(descriptor);
  if (length <= 0) return false;
  text[length] = 0;
  text[strcspn(text, "\n")] = 0;
  return strcmp(text, wanted) == 0;
}

static int find_and_open(const char *wanted) {
  DIR *list = opendir(PORTS);
  int descriptor = -1;
  for (struct dirent *item; list && descriptor < 0 && (item = readdir(list));) {
    char path[320];
    if (item->d_name[0] == '.' || !has_name(item->d_name, wanted)) continue;
    snprintf(path, sizeof path, "/dev/%s", item->d_name);
    descriptor = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  }
  if (list) closedir(list);
  return descriptor;
}

int port_open(const char *name) {
  for (int waited = 0; waited <= PATIENCE; waited += 2) {
    int descriptor = find_and_open(name);
    if (descriptor >= 0) return descriptor;
    nanosleep(&(struct timespec){0, 2000000}, NULL);
  }
  errno = ENODEV;
  return -1;
}
