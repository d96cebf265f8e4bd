#define _GNU_SOURCE
#include "connect-path.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int connect_to_path(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char name[64];
  int found = open(path, O_PATH | O_CLOEXEC);
  if (found < 0) return -1;
  // A socket's path may not be long.
  snprintf(name, sizeof name, "/proc/self/fd/%d", found);
  strcpy(address.sun_path, name);
  int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connection >= 0 && connect(connection, (struct sockaddr *)&address, sizeof address) != 0) {
    close(connection);
    connection = -1;
  }
  close(found);
  return connection;
}
