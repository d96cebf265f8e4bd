// From what the kernel says to what the host is told.
#include <errno.h>
#include <stdio.h>
#include <sys/inotify.h>

#include "temporary-name.h"
#include "watch.h"

#define DEPARTURE_PATIENCE (20 * MILLISECOND)

static bool repeats_last(const struct watch *watch, uint8_t kind, const char *path) {
  const struct change *last = watch->last_change;
  bool mergeable = kind == CHANGE_CHANGED || kind == CHANGE_ATTRIBUTES || kind == CHANGE_OVERFLOW;
  return last && last->kind == kind && mergeable && strcmp(last->path, path) == 0;
}

void watch_push(struct watch *watch, uint8_t kind, const char *path, const char *from) {
  if (repeats_last(watch, kind, path)) return;
  if (watch->change_count >= CHANGE_LIMIT) {
    if (watch->last_change->kind == CHANGE_OVERFLOW) return;
    kind = CHANGE_OVERFLOW;
    from = NULL;
  }
  size_t length = strlen(path) + 1;
  struct change *change = malloc(sizeof *change + length);
  // Without memory nothing can be told; the watch goes on.
  if (!change) return;
  *change = (struct change){.kind = kind, .from = from ? strdup(from) : NULL};
  memcpy(change->path, path, length);
  if (watch->last_change) watch->last_change->next = change;
  else watch->first_change = change;
  watch->last_change = change;
  watch->change_count++;
}

static void release_departure(struct watch *watch) {
  timer_stop(&watch->departure_timer);
  free(watch->departure.path);
  watch->departure = (struct departure){0};
}

void watch_flush_departure(struct watch *watch) {
  struct departure *departure = &watch->departure;
  if (!departure->path) return;
  if (!departure->temporary) watch_push(watch, CHANGE_REMOVED, departure->path, NULL);
  if (departure->is_directory) watch_forget_below(watch, departure->path);
  release_departure(watch);
}

static void depart(struct watch *watch, const struct inotify_event *event, const char *path) {
  watch->departure = (struct departure){event->cookie, event->mask & IN_ISDIR, (uint8_t)temporary_kind(event->name), strdup(path)};
  timer_set(&watch->departure_timer, monotonic_now() + DEPARTURE_PATIENCE);
}

static void created(struct watch *watch, const struct inotify_event *event, const char *path) {
  if (temporary_kind(event->name)) return;
  watch_push(watch, CHANGE_CREATED, path, NULL);
  if (event->mask & IN_ISDIR && watch->recursive) watch_add_scan(watch, path, true);
}

static void arrive(struct watch *watch, const struct inotify_event *event, const char *path) {
  struct departure *departure = &watch->departure;
  if (!departure->path || departure->cookie != event->cookie) return created(watch, event, path);
  // A file that was written beside its target and now takes its name.
  if (departure->temporary == TEMPORARY_NEW) watch_push(watch, CHANGE_CREATED, path, NULL);
  else if (departure->temporary == TEMPORARY_REPLACEMENT) watch_push(watch, CHANGE_CHANGED, path, NULL);
  else watch_push(watch, CHANGE_RENAMED, path, departure->path);
  if (departure->is_directory) watch_move_below(watch, departure->path, path);
  release_departure(watch);
}

static void changed(struct watch *watch, const struct inotify_event *event, const char *path) {
  watch_push(watch, event->mask & IN_MODIFY ? CHANGE_CHANGED : CHANGE_ATTRIBUTES, path, NULL);
}

// Events about the watched thing itself. For a directory below the root its parent says the same, with the name.
static void about_itself(struct watch *watch, const struct inotify_event *event, const char *path) {
  if (strcmp(path, watch->root) != 0) return;
  if (event->mask & (IN_DELETE_SELF | IN_MOVE_SELF)) watch_push(watch, CHANGE_REMOVED, path, NULL);
  else if (event->mask & (IN_MODIFY | IN_ATTRIB) && !(event->mask & IN_ISDIR)) changed(watch, event, path);
}

static void translate(struct watch *watch, const struct inotify_event *event) {
  struct watched *watched = watch_find(watch, event->wd);
  bool completes = event->mask & IN_MOVED_TO && event->cookie == watch->departure.cookie;
  if (!completes && !(event->mask & IN_MOVE_SELF)) watch_flush_departure(watch);
  if (event->mask & IN_Q_OVERFLOW) return watch_push(watch, CHANGE_OVERFLOW, watch->root, NULL);
  if (event->mask & IN_IGNORED) return watch_forget(watch, event->wd);
  if (!watched) return;
  if (event->len == 0) return about_itself(watch, event, watched->path);
  char path[PATH_BYTES + 256];
  snprintf(path, sizeof path, "%s/%s", strcmp(watched->path, "/") ? watched->path : "", event->name);
  if (event->mask & IN_MOVED_FROM) return depart(watch, event, path);
  if (event->mask & IN_MOVED_TO) return arrive(watch, event, path);
  if (event->mask & IN_CREATE) return created(watch, event, path);
  if (temporary_kind(event->name)) return;
  if (event->mask & IN_DELETE) watch_push(watch, CHANGE_REMOVED, path, NULL);
  else if (event->mask & (IN_MODIFY | IN_ATTRIB)) changed(watch, event, path);
}

void watch_translate_next(struct watch *watch) {
  const struct inotify_event *event = (const void *)(watch->events + watch->event_position);
  watch->event_position += sizeof *event + event->len;
  translate(watch, event);
}
