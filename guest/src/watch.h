// A watch: one inotify instance, the directories it covers, and the changes that wait to be sent.
#ifndef HEARTH_WATCH_H
#define HEARTH_WATCH_H
#include "channel.h"
#include "loop.h"
#include "paths.h"

#define WATCHED_LIMIT 8192u
#define CHANGE_LIMIT 65536u
#define WATCH_BUCKETS 256u
#define EVENT_BYTES 4096

enum change_kind { CHANGE_CREATED = 1, CHANGE_CHANGED, CHANGE_REMOVED, CHANGE_RENAMED, CHANGE_OVERFLOW, CHANGE_ATTRIBUTES };

struct watched {
  struct watched *next;
  int descriptor;  // of inotify
  char *path;
};

struct change {
  struct change *next;
  uint8_t kind;
  char *from;
  char path[];
};

// A directory that still has to be watched and read.
struct scan {
  struct scan *next;
  bool report;  // its content is news
  char path[];
};

// A name that was moved away; its new name usually is the next event.
struct departure {
  uint32_t cookie;
  bool is_directory;
  uint8_t temporary;
  char *path;
};

struct watch {
  struct channel channel;
  struct source inotify;
  struct timer departure_timer;
  struct departure departure;
  struct watched *buckets[WATCH_BUCKETS];
  struct scan *scans;
  struct change *first_change, *last_change;
  uint32_t watched_count, change_count;
  bool recursive, announced;
  int error;  // of the first scan
  char *root;
  size_t event_position, event_length;
  _Alignas(8) uint8_t events[EVENT_BYTES];
};

// watch-directories.c
struct watched *watch_find(struct watch *watch, int descriptor);
void watch_forget(struct watch *watch, int descriptor);
void watch_forget_below(struct watch *watch, const char *path);
void watch_move_below(struct watch *watch, const char *from, const char *to);
void watch_add_scan(struct watch *watch, const char *path, bool report);
// Watches the next directory and reads it.
void watch_scan_next(struct watch *watch);
void watch_release_directories(struct watch *watch);

// watch-events.c
void watch_push(struct watch *watch, uint8_t kind, const char *path, const char *from);
void watch_translate_next(struct watch *watch);
// A name whose new one did not come has left.
void watch_flush_departure(struct watch *watch);
#endif
