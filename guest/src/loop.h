// The one event loop: descriptors, timers, signals. Nothing in the guest blocks anywhere else.
#ifndef HEARTH_LOOP_H
#define HEARTH_LOOP_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

// A watched descriptor, embedded in what owns it. fd is -1 when closed.
struct source {
  int fd;
  uint32_t events;
  void (*ready)(struct source *source, uint32_t events);
};

struct timer {
  uint64_t deadline;  // monotonic nanoseconds
  void (*fire)(struct timer *timer);
  struct timer *next;
  bool armed;
};

#define OWNER(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))
#define MILLISECOND 1000000ull
#define SECOND 1000000000ull

uint64_t monotonic_now(void);
uint64_t wall_now(void);

bool loop_open(void);
void loop_close(void);
// Runs until loop_stop. Each round ends with after_round; when that returns true there is more to do and the loop does not sleep.
void loop_run(bool (*after_round)(void));
void loop_stop(void);

// events 0 stops watching. False when the kernel refuses (a regular file cannot be watched).
bool source_watch(struct source *source, uint32_t events);
// Stops watching and closes the descriptor.
void source_close(struct source *source);

void timer_set(struct timer *timer, uint64_t deadline);
void timer_stop(struct timer *timer);
#endif
