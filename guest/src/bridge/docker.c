#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bridge.h"
#include "engine-api.h"
#include "streams.h"

#define DESCRIPTION_LIMIT (1024 * 1024)

// The name goes into a path of the API: nothing that could mean something there.
static bool is_name(const char *name) {
  size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
  return length > 0 && length <= 128 && name[length] == 0;
}

static int failure(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  return 1;
}

static bool read_description(const char *path, struct engine_body *body) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) return false;
  if (status.st_size > DESCRIPTION_LIMIT) {
    errno = EFBIG;
    return false;
  }
  char *bytes = malloc((size_t)status.st_size + 1);
  size_t length = 0;
  while (bytes && length < (size_t)status.st_size) {
    ssize_t got = read(fd, bytes + length, (size_t)status.st_size - length);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    length += (size_t)got;
  }
  close(fd);
  *body = (struct engine_body){bytes, length};
  return bytes != NULL && length == (size_t)status.st_size;
}

int bridge_attach(int argc, char **argv) {
  struct engine_body description, nothing = {"", 0};
  if (argc != 5 || !is_name(argv[3])) {
    errno = EINVAL;
    return failure("attach-docker SOCKET NAME FILE");
  }
  const char *socket_path = argv[2], *name = argv[3];
  char path[512];
  signal(SIGPIPE, SIG_IGN);
  if (!read_description(argv[4], &description)) return failure(argv[4]);
  snprintf(path, sizeof path, "/containers/create?name=%s", name);
  int status = engine_call(socket_path, "POST", path, description);
  if (status != 201) return status < 0 ? failure("container engine") : 1;
  snprintf(path, sizeof path, "/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1", name);
  // Attached before it starts, so that nothing it says is lost.
  int container = engine_hijack(socket_path, path);
  if (container < 0) return failure("attach");
  snprintf(path, sizeof path, "/containers/%s/start", name);
  status = engine_call(socket_path, "POST", path, nothing);
  if (status != 204) return status < 0 ? failure("start") : 1;
  return streams_copy(container);
}

int bridge_remove(int argc, char **argv) {
  struct engine_body nothing = {"", 0};
  if (argc != 4 || !is_name(argv[3])) {
    errno = EINVAL;
    return failure("remove-docker SOCKET NAME");
  }
  char path[512];
  snprintf(path, sizeof path, "/containers/%s?force=1&v=1", argv[3]);
  int status = engine_call(argv[2], "DELETE", path, nothing);
  // 409: the engine is removing it already.
  if (status == 200 || status == 204 || status == 404 || status == 409) return 0;
  return status < 0 ? failure("remove") : 1;
}
