// The host's end of the volumes of a microVM: one request after the other, each checked by itself.
#ifndef HEARTH_VOLUMES_SERVE_H
#define HEARTH_VOLUMES_SERVE_H
#include <stdbool.h>
#include <stddef.h>

#include "volume-wire.h"

struct volume_root {
  int descriptor;
  bool read_only;
};

// A request whose lengths fit each other. The paths are terminated.
struct volume_call {
  const struct volume_request *request;
  const struct volume_root *root;
  const char *path, *other;
  const uint8_t *arguments;
  size_t arguments_length;
};

struct volume_reply {
  struct fuse_out_header header;
  _Alignas(8) uint8_t body[VOLUME_REPLY_LIMIT];
};

// Where answers lie that are read elsewhere; NULL: nowhere.
void serve_window(uint8_t *window);
void serve_roots(const struct volume_root *roots, size_t count);
// SAFETY: the bytes are a guest's. False when they are no request at all; an answer goes into `reply`, whose length is 0 where none is due.
bool serve_request(const uint8_t *bytes, size_t length, struct volume_reply *reply);
// How many files are held that have no name.
unsigned serve_held_count(void);
#endif
