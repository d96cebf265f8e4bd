#include "loop.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64

// Who watches a descriptor. The kernel is given the number and the generation, never a pointer: after a restore gVisor's kernel tells of
// connections that are no longer watched, and of which nothing is left.
struct watcher {
  struct source *source;
  uint32_t generation;
};

static int epoll_descriptor = -1;
static struct watcher *watchers;
static int watcher_count;
static bool removed;  // since the last events were read
static struct timer *timers;
static bool stopping;

static uint64_t clock_now(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

uint64_t monotonic_now(void) { return clock_now(CLOCK_MONOTONIC); }
uint64_t wall_now(void) { return clock_now(CLOCK_REALTIME); }

bool loop_open(void) {
  stopping = false;
  epoll_descriptor = epoll_create1(EPOLL_CLOEXEC);
  return epoll_descriptor >= 0;
}

void loop_close(void) {
  if (epoll_descriptor >= 0) close(epoll_descriptor);
  epoll_descriptor = -1;
  free(watchers);
  watchers = NULL;
  watcher_count = 0;
}

void loop_stop(void) { stopping = true; }

static bool has_room(int descriptor) {
  if (descriptor < watcher_count) return true;
  int wanted = descriptor + 64;
  struct watcher *more = realloc(watchers, (size_t)wanted * sizeof *more);
  if (!more) return false;
  for (int i = watcher_count; i < wanted; i++) more[i] = (struct watcher){0};
  watchers = more;
  watcher_count = wanted;
  return true;
}

static bool control(int operation, int descriptor, uint32_t events) {
  uint64_t token = (uint64_t)watchers[descriptor].generation << 32 | (uint32_t)descriptor;
  struct epoll_event event = {.events = events, .data.u64 = token};
  return epoll_ctl(epoll_descriptor, operation, descriptor, &event) == 0;
}

bool source_watch(struct source *source, uint32_t events) {
  if (source->fd < 0 || source->events == events) return true;
  if (!has_room(source->fd)) return false;
  struct watcher *watcher = &watchers[source->fd];
  int operation = events == 0 ? EPOLL_CTL_DEL : source->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (operation == EPOLL_CTL_ADD) watcher->generation++;
  if (!control(operation, source->fd, events)) return false;
  watcher->source = events == 0 ? NULL : source;
  source->events = events;
  if (events == 0) removed = true;
  return true;
}

void source_close(struct source *source) {
  if (source->fd < 0) return;
  // A child that was just forked may still hold the description open, so that closing alone would leave it registered.
  source_watch(source, 0);
  if (source->fd < watcher_count && watchers[source->fd].source == source) watchers[source->fd].source = NULL;
  close(source->fd);
  source->fd = -1;
  removed = true;
}

// Watches all of them anew: what the kernel should have forgotten is told no more.
static void watch_anew(void) {
  int anew = epoll_create1(EPOLL_CLOEXEC);
  if (anew < 0) return;
  close(epoll_descriptor);
  epoll_descriptor = anew;
  removed = true;
  for (int i = 0; i < watcher_count; i++)
    if (watchers[i].source && !control(EPOLL_CTL_ADD, i, watchers[i].source->events)) watchers[i].source->events = 0;
}

static void tell(const struct epoll_event *event) {
  uint32_t descriptor = (uint32_t)event->data.u64;
  struct watcher *watcher = descriptor < (uint32_t)watcher_count ? &watchers[descriptor] : NULL;
  if (watcher && watcher->source && watcher->generation == (uint32_t)(event->data.u64 >> 32))
    watcher->source->ready(watcher->source, event->events);
  else if (!removed)
    watch_anew();
}

void timer_stop(struct timer *timer) {
  if (!timer->armed) return;
  timer->armed = false;
  for (struct timer **link = &timers; *link; link = &(*link)->next) {
    if (*link != timer) continue;
    *link = timer->next;
    return;
  }
}

void timer_set(struct timer *timer, uint64_t deadline) {
  timer_stop(timer);
  timer->deadline = deadline;
  timer->armed = true;
  struct timer **link = &timers;
  while (*link && (*link)->deadline <= deadline) link = &(*link)->next;
  timer->next = *link;
  *link = timer;
}

static void fire_timers(void) {
  if (!timers) return;
  uint64_t now = monotonic_now();
  while (timers && timers->deadline <= now) {
    struct timer *timer = timers;
    timer_stop(timer);
    timer->fire(timer);
  }
}

static int sleep_milliseconds(void) {
  if (!timers) return -1;
  uint64_t now = monotonic_now();
  if (timers->deadline <= now) return 0;
  uint64_t wait = (timers->deadline - now + MILLISECOND - 1) / MILLISECOND;
  return wait > 60000 ? 60000 : (int)wait;
}

void loop_run(bool (*after_round)(void)) {
  struct epoll_event batch[BATCH];
  bool more = after_round();
  while (!stopping) {
    int length = epoll_wait(epoll_descriptor, batch, BATCH, more ? 0 : sleep_milliseconds());
    if (length < 0 && errno != EINTR) return;
    removed = false;
    for (int i = 0; i < length; i++) tell(&batch[i]);
    fire_timers();
    more = after_round();
  }
}
