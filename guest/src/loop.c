#include "loop.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#define BATCH 64

static int epoll_descriptor = -1;
static struct epoll_event batch[BATCH];
static int batch_length, batch_position;
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
}

void loop_stop(void) { stopping = true; }

bool source_watch(struct source *source, uint32_t events) {
  if (source->fd < 0 || source->events == events) return true;
  struct epoll_event event = {.events = events, .data.ptr = source};
  int operation = events == 0 ? EPOLL_CTL_DEL : source->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (epoll_ctl(epoll_descriptor, operation, source->fd, &event) != 0) return false;
  source->events = events;
  return true;
}

void source_close(struct source *source) {
  if (source->fd < 0) return;
  // A child that was just forked may still hold the description open, so that closing alone would leave it registered.
  source_watch(source, 0);
  close(source->fd);
  source->fd = -1;
  for (int i = batch_position; i < batch_length; i++) {
    if (batch[i].data.ptr == source) batch[i].data.ptr = NULL;
  }
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
  bool more = after_round();
  while (!stopping) {
    batch_length = epoll_wait(epoll_descriptor, batch, BATCH, more ? 0 : sleep_milliseconds());
    if (batch_length < 0 && errno != EINTR) return;
    for (batch_position = 0; batch_position < batch_length;) {
      struct epoll_event *event = &batch[batch_position++];
      struct source *source = event->data.ptr;
      if (source && source->fd >= 0) source->ready(source, event->events);
    }
    batch_length = 0;
    fire_timers();
    more = after_round();
  }
}
