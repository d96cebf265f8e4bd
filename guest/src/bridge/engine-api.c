#include "engine-api.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HEADER_LIMIT 16384
#define EXPLANATION_LIMIT 1024

int engine_connect(const char *socket_path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(socket_path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, socket_path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

static bool send_all(int fd, const char *bytes, size_t length) {
  while (length > 0) {
    ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    length -= (size_t)sent;
  }
  return true;
}

static bool send_request(int fd, const char *method, const char *path, const char *connection, struct engine_body body) {
  char head[1024];
  int length = snprintf(head, sizeof head,
                        "%s %s HTTP/1.1\r\nHost: engine\r\n%sContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", method, path,
                        connection, body.length);
  if (length < 0 || (size_t)length >= sizeof head) {
    errno = ENAMETOOLONG;
    return false;
  }
  return send_all(fd, head, (size_t)length) && send_all(fd, body.bytes, body.length);
}

// Reads up to the empty line and not a byte further, since what follows may be the container's. The status, or -1.
static int read_status(int fd) {
  char head[HEADER_LIMIT + 1];
  size_t length = 0;
  while (length < HEADER_LIMIT) {
    ssize_t got = read(fd, head + length, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (got == 0) errno = ECONNRESET;
      return -1;
    }
    length++;
    if (length >= 4 && memcmp(head + length - 4, "\r\n\r\n", 4) == 0) {
      head[length] = 0;
      if (strncmp(head, "HTTP/1.", 7) != 0 || length < 12 || head[8] != ' ') break;
      return (int)strtol(head + 9, NULL, 10);
    }
  }
  errno = EPROTO;
  return -1;
}

// What the engine says about a refusal is for people to read in the log.
static void print_explanation(int fd, const char *path, int status) {
  char text[EXPLANATION_LIMIT];
  ssize_t length = read(fd, text, sizeof text);
  fprintf(stderr, "the container engine answered %s with %d: %.*s\n", path, status, length > 0 ? (int)length : 0, text);
}

int engine_call(const char *socket_path, const char *method, const char *path, struct engine_body body) {
  int fd = engine_connect(socket_path);
  if (fd < 0) return -1;
  int status = send_request(fd, method, path, "Connection: close\r\n", body) ? read_status(fd) : -1;
  // Nothing to remove is no reason to complain.
  if (status >= 400 && strcmp(method, "DELETE") != 0) print_explanation(fd, path, status);
  close(fd);
  return status;
}

int engine_hijack(const char *socket_path, const char *path) {
  int fd = engine_connect(socket_path);
  if (fd < 0) return -1;
  struct engine_body nothing = {"", 0};
  int status = send_request(fd, "POST", path, "Connection: Upgrade\r\nUpgrade: tcp\r\n", nothing) ? read_status(fd) : -1;
  if (status == 101 || status == 200) return fd;
  if (status > 0) print_explanation(fd, path, status);
  close(fd);
  if (status > 0) errno = EPROTO;
  return -1;
}
