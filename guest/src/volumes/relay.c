#define _GNU_SOURCE
#include "relay.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nodes.h"
#include "pending.h"
#include "translate.h"
#include "volume-wire.h"

#define PAUSE_SECONDS 20
// Before it pauses it takes what the kernel has to say already, so that the host lets go of what nobody uses any more.
#define LAST_REQUESTS 256

static struct volume volumes[VOLUME_LIMIT];
static int port = -1, bell = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool wanted_pause, is_paused;

// A request on its way to the host. The kernel's is read behind the room for what is put in its place, so that its data stays where it is.
#define HEAD_ROOM (sizeof(struct volume_request) + 2 * VOLUME_PATH_LIMIT + 8)
static _Alignas(8) uint8_t asked[HEAD_ROOM + sizeof(struct fuse_in_header) + VOLUME_ARGUMENTS_LIMIT];
static const uint8_t *unsent;
static size_t unsent_length;
static _Alignas(8) uint8_t answered[sizeof(struct fuse_out_header) + VOLUME_REPLY_LIMIT];
static size_t answered_length;

static void answer(const struct volume *volume, uint64_t unique, int error, const void *body, size_t length) {
  _Alignas(8) uint8_t bytes[sizeof(struct fuse_out_header) + sizeof(struct fuse_entry_out)];
  struct fuse_out_header header = {(uint32_t)(sizeof header + length), -error, unique};
  memcpy(bytes, &header, sizeof header);
  if (length) memcpy(bytes + sizeof header, body, length);
  // Whoever asked may have been killed meanwhile.
  ssize_t ignored = write(volume->device, bytes, header.len);
  (void)ignored;
}

// Nobody answers on the host any more.
static void fail_all(void) {
  for (struct pending *pending; (pending = pending_first());) {
    answer(pending->volume, pending->unique, EIO, NULL, 0);
    pending_done();
  }
  unsent_length = answered_length = 0;
}

static void send_some(void) {
  while (unsent_length) {
    ssize_t count = write(port, unsent, unsent_length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return fail_all();
    unsent += count;
    unsent_length -= (size_t)count;
  }
}

static void send_drops(void) {
  size_t length;
  const uint8_t *drops = translate_drops(&length);
  if (!length) return;
  unsent = drops;
  unsent_length = length;
  send_some();
}

static void take_request(struct volume *volume) {
  uint8_t *place = asked + HEAD_ROOM;
  ssize_t count = read(volume->device, place, sizeof asked - HEAD_ROOM);
  if (count < 0 && errno == ENODEV) {
    // It was unmounted, and the kernel forgets it all.
    close(volume->device);
    volume->device = -1;
  }
  if (count < (ssize_t)sizeof(struct fuse_in_header)) return;
  struct fuse_in_header header;
  memcpy(&header, place, sizeof header);
  struct translation made = translate_request(volume, &header, place + sizeof header, (size_t)count - sizeof header);
  switch (made.kind) {
    case TRANSLATED_SILENT:
      return send_drops();
    case TRANSLATED_ANSWER:
      return answer(volume, header.unique, made.error, made.body, made.length);
    case TRANSLATED_REQUEST:
      unsent = made.bytes;
      unsent_length = made.length;
      return send_some();
  }
}

static void take_answers(void) {
  for (;;) {
    ssize_t count = read(port, answered + answered_length, sizeof answered - answered_length);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0 || (count < 0 && errno != EAGAIN)) return fail_all();
    if (count < 0) return;
    answered_length += (size_t)count;
    size_t at = 0;
    struct fuse_out_header header;
    while (answered_length - at >= sizeof header && (memcpy(&header, answered + at, sizeof header), header.len <= answered_length - at)) {
      struct pending *pending = pending_first();
      // The host answers in order and with what fits: anything else is the end.
      if (!pending || header.unique != pending->tag || header.len < sizeof header) return fail_all();
      size_t length = header.len;
      const uint8_t *bytes = translate_answer(pending, answered + at, &length);
      ssize_t ignored = write(pending->volume->device, bytes, length);
      (void)ignored;
      pending_done();
      at += header.len;
    }
    if (answered_length - at >= sizeof header && header.len > sizeof answered) return fail_all();
    memmove(answered, answered + at, answered_length - at);
    answered_length -= at;
  }
}

static void stand_still(void) {
  pthread_mutex_lock(&mutex);
  is_paused = true;
  pthread_cond_broadcast(&changed);
  while (wanted_pause) pthread_cond_wait(&changed, &mutex);
  is_paused = false;
  pthread_mutex_unlock(&mutex);
}

// Waits at most so long. Whether there was any.
static bool take_requests(bool takes, int patience) {
  struct pollfd polls[2 + VOLUME_LIMIT] = {{bell, POLLIN, 0}, {port, (short)(POLLIN | (unsent_length ? POLLOUT : 0)), 0}};
  for (unsigned i = 0; i < VOLUME_LIMIT; i++) polls[2 + i] = (struct pollfd){takes ? volumes[i].device : -1, POLLIN, 0};
  // A port without its host says so for ever; only whoever waits for an answer hears of it.
  if (!pending_first() && unsent_length == 0) polls[1].fd = -1;
  if (poll(polls, 2 + VOLUME_LIMIT, patience) <= 0) return false;
  uint64_t rings;
  ssize_t ignored = polls[0].revents ? read(bell, &rings, sizeof rings) : 0;
  (void)ignored;
  if (polls[1].revents & POLLIN) take_answers();
  else if (polls[1].revents & POLLHUP) fail_all();
  if (unsent_length) send_some();
  bool any = false;
  for (unsigned i = 0; i < VOLUME_LIMIT; i++) {
    if (!polls[2 + i].revents || unsent_length || !pending_has_room()) continue;
    take_request(&volumes[i]);
    any = true;
  }
  return any;
}

static void *run(void *context) {
  (void)context;
  for (unsigned last = 0;;) {
    bool idle = !pending_first() && unsent_length == 0;
    if (!__atomic_load_n(&wanted_pause, __ATOMIC_RELAXED)) {
      last = 0;
      take_requests(unsent_length == 0 && pending_has_room(), -1);
    } else if (!idle) {
      take_requests(false, -1);
    } else if (last++ == LAST_REQUESTS || !take_requests(true, 0)) {
      last = 0;
      stand_still();
    }
  }
  return NULL;
}

int relay_start(int given) {
  if (port >= 0) return 0;
  for (unsigned i = 0; i < VOLUME_LIMIT; i++) volumes[i].device = -1;
  bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell < 0) return errno;
  port = given;
  sigset_t all, before;
  sigfillset(&all);
  pthread_t thread;
  // Signals are the guest's own.
  pthread_sigmask(SIG_BLOCK, &all, &before);
  int error = pthread_create(&thread, NULL, run, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (error) port = -1;
  return error;
}

int relay_add(int device, unsigned number, bool read_only) {
  struct volume *volume = &volumes[number];
  if (!nodes_open(&volume->nodes)) return ENOMEM;
  volume->number = (uint16_t)number;
  volume->read_only = read_only;
  volume->device = device;
  return 0;
}

bool relay_is_open(void) { return port >= 0; }

void relay_move(unsigned from, unsigned to) {
  volumes[to] = volumes[from];
  volumes[to].number = (uint16_t)to;
  volumes[from].device = -1;
}

static void ring(void) {
  uint64_t one = 1;
  ssize_t ignored = write(bell, &one, sizeof one);
  (void)ignored;
}

bool relay_pause(void) {
  if (port < 0) return true;
  struct timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += PAUSE_SECONDS;
  pthread_mutex_lock(&mutex);
  __atomic_store_n(&wanted_pause, true, __ATOMIC_RELAXED);
  ring();
  int error = 0;
  while (!is_paused && !error) error = pthread_cond_timedwait(&changed, &mutex, &deadline);
  bool paused = is_paused;
  pthread_mutex_unlock(&mutex);
  if (!paused) relay_resume();
  return paused;
}

void relay_resume(void) {
  if (port < 0) return;
  pthread_mutex_lock(&mutex);
  __atomic_store_n(&wanted_pause, false, __ATOMIC_RELAXED);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

uint64_t *relay_renumber(unsigned number, size_t *count) {
  struct nodes *nodes = &volumes[number].nodes;
  uint64_t *ids = malloc(nodes->count * sizeof *ids);
  *count = 0;
  nodes_renumber(nodes);
  if (!ids) return NULL;
  for (size_t i = 0; i < nodes->buckets; i++)
    for (struct node *node = nodes->by_id[i]; node; node = node->next_by_id) ids[(*count)++] = node->id;
  return ids;
}
