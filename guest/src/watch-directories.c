#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "temporary-name.h"
#include "beneath.h"
#include "watch.h"

#define EVENTS (IN_CREATE | IN_MODIFY | IN_ATTRIB | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF)

static struct watched **bucket_of(struct watch *watch, int descriptor) { return &watch->buckets[(uint32_t)descriptor % WATCH_BUCKETS]; }

struct watched *watch_find(struct watch *watch, int descriptor) {
  struct watched *watched = *bucket_of(watch, descriptor);
  while (watched && watched->descriptor != descriptor) watched = watched->next;
  return watched;
}

static void release(struct watch *watch, struct watched **link) {
  struct watched *watched = *link;
  *link = watched->next;
  watch->watched_count--;
  free(watched->path);
  free(watched);
}

void watch_forget(struct watch *watch, int descriptor) {
  for (struct watched **link = bucket_of(watch, descriptor); *link; link = &(*link)->next) {
    if ((*link)->descriptor != descriptor) continue;
    release(watch, link);
    return;
  }
}

static bool is_below(const char *path, const char *directory) {
  size_t length = strlen(directory);
  return strncmp(path, directory, length) == 0 && (path[length] == 0 || path[length] == '/');
}

void watch_forget_below(struct watch *watch, const char *path) {
  for (uint32_t i = 0; i < WATCH_BUCKETS; i++) {
    for (struct watched **link = &watch->buckets[i]; *link;) {
      if (!is_below((*link)->path, path)) {
        link = &(*link)->next;
        continue;
      }
      inotify_rm_watch(watch->inotify.fd, (*link)->descriptor);
      release(watch, link);
    }
  }
}

void watch_move_below(struct watch *watch, const char *from, const char *to) {
  for (uint32_t i = 0; i < WATCH_BUCKETS; i++) {
    for (struct watched *watched = watch->buckets[i]; watched; watched = watched->next) {
      char *moved;
      if (!is_below(watched->path, from) || asprintf(&moved, "%s%s", to, watched->path + strlen(from)) < 0) continue;
      free(watched->path);
      watched->path = moved;
    }
  }
}

static int add(struct watch *watch, const char *path, bool root) {
  if (watch->watched_count >= WATCHED_LIMIT) return ENOSPC;
  int descriptor = inotify_add_watch(watch->inotify.fd, path, EVENTS | (root ? 0 : IN_ONLYDIR | IN_DONT_FOLLOW));
  if (descriptor < 0) return errno;
  struct watched *known = watch_find(watch, descriptor);
  char *copy = strdup(path);
  if (!copy) return ENOMEM;
  if (known) {
    free(known->path);
    known->path = copy;
    return 0;
  }
  struct watched *watched = malloc(sizeof *watched);
  if (!watched) {
    free(copy);
    return ENOMEM;
  }
  struct watched **bucket = bucket_of(watch, descriptor);
  *watched = (struct watched){*bucket, descriptor, copy};
  *bucket = watched;
  watch->watched_count++;
  return 0;
}

void watch_add_scan(struct watch *watch, const char *path, bool report) {
  size_t length = strlen(path) + 1;
  struct scan *scan = malloc(sizeof *scan + length);
  if (!scan) return watch_push(watch, CHANGE_OVERFLOW, watch->root, NULL);
  memcpy(scan->path, path, length);
  scan->report = report;
  scan->next = watch->scans;
  watch->scans = scan;
}

static bool is_directory(int directory, const struct dirent *item) {
  struct stat status;
  if (item->d_type != DT_UNKNOWN) return item->d_type == DT_DIR;
  return fstatat(directory, item->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

static void read_directory(struct watch *watch, const struct scan *scan, bool root) {
  int descriptor = root ? open(scan->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC) : open_directory_at(AT_FDCWD, scan->path);
  DIR *list = descriptor < 0 ? NULL : fdopendir(descriptor);
  if (!list) {
    if (descriptor >= 0) close(descriptor);
    return;
  }
  for (struct dirent *item; (item = readdir(list));) {
    char path[PATH_BYTES];
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0 || temporary_kind(item->d_name)) continue;
    if (snprintf(path, sizeof path, "%s/%s", strcmp(scan->path, "/") ? scan->path : "", item->d_name) >= (int)sizeof path) continue;
    if (scan->report) watch_push(watch, CHANGE_CREATED, path, NULL);
    if (is_directory(descriptor, item)) watch_add_scan(watch, path, scan->report);
  }
  closedir(list);
}

void watch_scan_next(struct watch *watch) {
  struct scan *scan = watch->scans;
  watch->scans = scan->next;
  bool root = strcmp(scan->path, watch->root) == 0;
  int error = add(watch, scan->path, root);
  // A directory that is gone again is no loss; a limit that was reached is.
  bool matters = root || (error != ENOENT && error != ENOTDIR && error != EACCES && error != ELOOP);
  if (error && matters && !watch->announced) watch->error = error;
  else if (error && matters) watch_push(watch, CHANGE_OVERFLOW, scan->path, NULL);
  if (!error && watch->recursive) read_directory(watch, scan, root);
  free(scan);
}

void watch_release_directories(struct watch *watch) {
  for (uint32_t i = 0; i < WATCH_BUCKETS; i++) {
    while (watch->buckets[i]) release(watch, &watch->buckets[i]);
  }
  for (struct scan *scan = watch->scans, *next; scan; scan = next) {
    next = scan->next;
    free(scan);
  }
}
