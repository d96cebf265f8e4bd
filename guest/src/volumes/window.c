#define _GNU_SOURCE
#include "window.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "volume-wire.h"

#define BLOCKS "/sys/block"
#define NAME "window"
#define PAGE 4096u

static int disk = -1;
static bool taken[VOLUME_WINDOW_PARTS];
// The header lies at the end of the first page.
static _Alignas(PAGE) uint8_t bytes[PAGE + VOLUME_DATA_LIMIT];

static bool has_name(const char *block) {
  char path[320], text[32] = "";
  snprintf(path, sizeof path, BLOCKS "/%s/serial", block);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  return length >= (ssize_t)strlen(NAME) && strncmp(text, NAME, strlen(NAME)) == 0;
}

void window_open(void) {
  DIR *list = opendir(BLOCKS);
  for (struct dirent *item; list && disk < 0 && (item = readdir(list));) {
    char path[320];
    if (item->d_name[0] == '.' || !has_name(item->d_name)) continue;
    snprintf(path, sizeof path, "/dev/%s", item->d_name);
    // What lies there is another thing each time: nothing of it may be kept.
    disk = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
  }
  if (list) closedir(list);
}

unsigned window_take(void) {
  for (unsigned part = 0; disk >= 0 && part < VOLUME_WINDOW_PARTS; part++) {
    if (taken[part]) continue;
    taken[part] = true;
    return part + 1;
  }
  return 0;
}

void window_free(unsigned part) {
  if (part) taken[part - 1] = false;
}

uint8_t *window_read(unsigned part, uint32_t length) {
  if (part == 0 || length > VOLUME_DATA_LIMIT) return NULL;
  size_t whole = (length + PAGE - 1) & ~(size_t)(PAGE - 1);
  ssize_t count = pread(disk, bytes + PAGE, whole, (off_t)(part - 1) * VOLUME_DATA_LIMIT);
  return count == (ssize_t)whole ? bytes + PAGE : NULL;
}
