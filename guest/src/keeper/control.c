#define _GNU_SOURCE
#include "control.h"
#include "text-file.h"
#include "launch.h"
#include "signals.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_exactly(int engine, int signals, uint8_t *bytes, size_t length) {
  while (length > 0) {
    struct pollfd polls[2] = {{engine, POLLIN, 0}, {signals, POLLIN, 0}};
    if (poll(polls, 2, -1) < 0) continue;
    if (polls[1].revents && keeper_signals_take(signals)) return false;
    if (!polls[0].revents) continue;
    ssize_t count = read(engine, bytes, length);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return false;
    bytes += count;
    length -= (size_t)count;
  }
  return true;
}

bool request_read(int engine, int signals, struct request *request) {
  uint8_t header[HEADER_BYTES];
  request->bytes = NULL;
  if (!read_exactly(engine, signals, header, sizeof header) || !wire_parse_header(header, &request->header)) return false;
  request->bytes = malloc(request->header.length + 1);
  request->payload = (struct slice){request->bytes, request->header.length};
  return request->bytes && read_exactly(engine, signals, request->bytes, request->header.length);
}

static bool reply(int engine, struct buffer *out) {
  size_t sent = 0;
  while (!out->failed && sent < out->length) {
    ssize_t count = write(engine, out->bytes + sent, out->length - sent);
    if (count > 0) sent += (size_t)count;
    else if (count < 0 && errno == EAGAIN) poll(&(struct pollfd){engine, POLLOUT, 0}, 1, -1);
    else if (count == 0 || errno != EINTR) break;
  }
  bool done = !out->failed && sent == out->length;
  free(out->bytes);
  return done;
}

bool reply_done(int engine, uint32_t channel, uint64_t value) {
  struct buffer out = {0};
  encode_done(&out, channel, &(struct message_done){value});
  return reply(engine, &out);
}

bool reply_failed(int engine, uint32_t channel, const struct failure *failure) {
  struct buffer out = {0};
  encode_failed(&out, channel, &(struct message_failed){(uint32_t)failure->number, slice_of(failure->what)});
  return reply(engine, &out);
}

static bool make_directory(const char *path) { return mkdir(path, 0755) == 0 || errno == EEXIST; }

static bool join(const char *cgroup, struct failure *failure) {
  char path[PATH_MAX];
  const char *name = strrchr(cgroup, '/');
  if (cgroup[0] != '/' || name == cgroup) return fail_with(failure, EINVAL, "cgroup %s: an absolute path is expected", cgroup);
  if ((size_t)snprintf(path, sizeof path, "%s/cgroup.procs", cgroup) >= sizeof path) return fail_with(failure, ENAMETOOLONG, "cgroup");
  if (!make_directory(cgroup)) {
    char parent[PATH_MAX];
    snprintf(parent, sizeof parent, "%.*s", (int)(name - cgroup), cgroup);
    if (!make_directory(parent)) return fail_with(failure, errno, "cgroup %s: mkdir", parent);
    if (!make_directory(cgroup)) return fail_with(failure, errno, "cgroup %s: mkdir", cgroup);
  }
  return text_file_put(path, "0", 1) || fail_with(failure, errno, "cgroup %s: join", cgroup);
}

char **cgroups_decode(struct slice payload, struct failure *failure) {
  struct message_keeper_prepare message;
  bool decoded = decode_keeper_prepare(payload, &message);
  char **cgroups = decoded ? string_list_of(message.cgroups) : NULL;
  if (!decoded) fail_with(failure, EPROTO, "KeeperPrepare: malformed");
  else if (!cgroups) fail_with(failure, EINVAL, "KeeperPrepare: a zero byte in a string, or no memory");
  return cgroups;
}

bool cgroups_join(char *const *cgroups, struct failure *failure) {
  for (size_t i = 0; cgroups[i]; i++)
    if (!join(cgroups[i], failure)) return false;
  return true;
}

// In a file of `NAME NUMBER` lines, as both versions have it.
static long oom_kills_in(const char *cgroup, const char *file) {
  char path[PATH_MAX], text[1024];
  if ((size_t)snprintf(path, sizeof path, "%s/%s", cgroup, file) >= sizeof path) return 0;
  if (text_file_get(path, text, sizeof text) < 0) return 0;
  const char *line = strstr(text, "\noom_kill ");
  return line ? strtol(line + strlen("\noom_kill "), NULL, 10) : 0;
}

long cgroups_oom_kills(char *const *cgroups) {
  long kills = 0;
  for (size_t i = 0; cgroups[i]; i++)
    kills += oom_kills_in(cgroups[i], "memory.events") + oom_kills_in(cgroups[i], "memory.oom_control");
  return kills;
}

void cgroups_remove(char *const *cgroups) {
  for (size_t i = 0; cgroups[i]; i++)
    // A process that was reaped may still be leaving.
    for (int attempt = 0; rmdir(cgroups[i]) != 0 && errno == EBUSY && attempt < 20; attempt++) poll(NULL, 0, 1 + attempt);
}
