#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "answer.h"
#include "messages.gen.h"
#include "requests.h"

#define RECURSIVE 1u
#define STEPS_PER_TURN 64

static struct watch *of(struct channel *channel) { return OWNER(channel, struct watch, channel); }

static void destroy(struct channel *channel) {
  struct watch *watch = of(channel);
  timer_stop(&watch->departure_timer);
  source_close(&watch->inotify);
  watch_release_directories(watch);
  for (struct change *change = watch->first_change, *next; change; change = next) {
    next = change->next;
    free(change->from);
    free(change);
  }
  free(watch->departure.path);
  free(watch->root);
  free(watch);
}

// False when the host has to grant more first.
static bool send_change(struct watch *watch, struct buffer *out) {
  struct change *change = watch->first_change;
  size_t before = out->length;
  struct slice from = change->from ? slice_of(change->from) : (struct slice){NULL, 0};
  encode_changed(out, watch->channel.id, &(struct message_changed){change->kind, slice_of(change->path), from});
  size_t payload = out->length - before - HEADER_BYTES;
  if (!out->failed && payload > watch->channel.send_credit) {
    out->length = before;
    return false;
  }
  watch->channel.send_credit -= payload;
  watch->first_change = change->next;
  if (!watch->first_change) watch->last_change = NULL;
  watch->change_count--;
  free(change->from);
  free(change);
  return true;
}

static bool read_events(struct watch *watch) {
  ssize_t count = read(watch->inotify.fd, watch->events, sizeof watch->events);
  watch->event_position = 0;
  watch->event_length = count > 0 ? (size_t)count : 0;
  if (count <= 0) source_watch(&watch->inotify, EPOLLIN);
  return count > 0;
}

static enum produced produce(struct channel *channel, struct buffer *out) {
  struct watch *watch = of(channel);
  for (int i = 0; i < STEPS_PER_TURN; i++) {
    if (watch->error) {
      write_failed(out, channel->id, watch->error, watch->root);
      return PRODUCED_END;
    }
    if (watch->first_change && watch->announced) {
      if (!send_change(watch, out)) return PRODUCED_NOTHING;
    } else if (watch->scans) {
      watch_scan_next(watch);
    } else if (!watch->announced) {
      watch->announced = true;
      encode_watching(out, channel->id, &(struct message_watching){watch->watched_count});
    } else if (watch->event_position < watch->event_length) {
      watch_translate_next(watch);
    } else if (!read_events(watch)) {
      return PRODUCED_NOTHING;
    }
  }
  return PRODUCED_MORE;
}

static void inotify_ready(struct source *source, uint32_t events) {
  (void)events;
  source_watch(source, 0);
  channel_ready(&OWNER(source, struct watch, inotify)->channel);
}

static void departure_overdue(struct timer *timer) {
  struct watch *watch = OWNER(timer, struct watch, departure_timer);
  watch_flush_departure(watch);
  channel_ready(&watch->channel);
}

static int prepare(struct watch *watch, const struct message_watch *message) {
  char path[PATH_BYTES];
  int error = path_copy(message->path, path);
  if (error) return error;
  for (size_t length = strlen(path); length > 1 && path[length - 1] == '/';) path[--length] = 0;
  watch->root = strdup(path);
  watch->inotify.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (!watch->root) return ENOMEM;
  if (watch->inotify.fd < 0) return errno;
  watch_add_scan(watch, watch->root, false);
  return 0;
}

void serve_watch(uint32_t channel, const struct message_watch *message) {
  static const struct channel_kind kind = {.produce = produce, .destroy = destroy};
  struct watch *watch = calloc(1, sizeof *watch);
  if (!watch) return answer_failed(channel, ENOMEM, "watch");
  watch->inotify = (struct source){.fd = -1, .ready = inotify_ready};
  watch->departure_timer.fire = departure_overdue;
  watch->recursive = message->flags & RECURSIVE;
  int error = prepare(watch, message);
  if (error) {
    answer_failed(channel, error, "watch");
    destroy(&watch->channel);
    return;
  }
  if (channel_open(&watch->channel, channel, &kind)) channel_ready(&watch->channel);
}
