#include "command-line.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void take(const char *word, const char *key, char *target, size_t size) {
  size_t length = strlen(key);
  if (strncmp(word, key, length) == 0) snprintf(target, size, "%s", word + length);
}

bool command_line_read(struct command_line *line) {
  *line = (struct command_line){.base_type = "ext4", .upper_type = "ext4"};
  char text[4096];
  int descriptor = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  ssize_t length = read(descriptor, text, sizeof text - 1);
  close(descriptor);
  if (length <= 0) return false;
  text[length] = 0;
  char *rest = text, pids[16] = "", volumes[16] = "";
  for (char *word; (word = strsep(&rest, " \n"));) {
    take(word, "hearth.base=", line->base, sizeof line->base);
    take(word, "hearth.basetype=", line->base_type, sizeof line->base_type);
    take(word, "hearth.upper=", line->upper, sizeof line->upper);
    take(word, "hearth.uppertype=", line->upper_type, sizeof line->upper_type);
    take(word, "hearth.pids=", pids, sizeof pids);
    take(word, "hearth.volumes=", volumes, sizeof volumes);
  }
  line->pids = strtoul(pids, NULL, 10);
  line->volumes = strtoul(volumes, NULL, 10) != 0;
  return line->base[0] != 0;
}
