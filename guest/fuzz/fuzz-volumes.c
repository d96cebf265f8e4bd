// What a machine sends to the server of its volumes, on a directory of its own: whatever it is, it is answered or ends the server.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volumes/serve.h"

static struct volume_root roots[2];

static bool open_roots(void) {
  char directory[] = "/tmp/fuzz-volumes-XXXXXX";
  if (!mkdtemp(directory)) return false;
  int top = open(directory, O_RDONLY | O_DIRECTORY);
  if (top < 0 || mkdirat(top, "d", 0755) != 0 || symlinkat("/", top, "l") != 0) return false;
  close(openat(top, "f", O_CREAT | O_WRONLY, 0644));
  roots[0] = (struct volume_root){top, false};
  roots[1] = (struct volume_root){top, true};
  serve_roots(roots, 2);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  static struct volume_reply reply;
  if (!roots[0].descriptor && !open_roots()) abort();
  if (serve_request(bytes, length, &reply) && reply.header.len > sizeof reply) abort();
  return 0;
}
