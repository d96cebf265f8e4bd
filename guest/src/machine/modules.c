#define _GNU_SOURCE
#include "modules.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMPRESSED_FILE 4  // MODULE_INIT_COMPRESSED_FILE

static void load(const char *path) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fprintf(stderr, "hearth-guest: module %s: %s\n", path, strerror(errno));
    return;
  }
  size_t length = strlen(path);
  int flags = length > 3 && strcmp(path + length - 3, ".ko") == 0 ? 0 : COMPRESSED_FILE;
  if (syscall(SYS_finit_module, descriptor, "", flags) != 0 && errno != EEXIST) fprintf(stderr, "hearth-guest: module %s: %s\n", path, strerror(errno));
  close(descriptor);
}

void modules_load(const char *list) {
  FILE *file = fopen(list, "re");
  if (!file) return;
  char line[512];
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\r\n")] = 0;
    if (!line[0] || line[0] == '#') continue;
    char path[600];
    snprintf(path, sizeof path, "%s%s", line[0] == '/' ? "" : "/hearth/", line);
    load(path);
  }
  fclose(file);
}
