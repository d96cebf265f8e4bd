#define _GNU_SOURCE
#include "network/names.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop.h"
#include "network/forward.h"

#define BUCKETS 256u
#define BACKLOG 128
// 127.64.0.0/10
#define LOOPBACK_PREFIX (0x7f400000u >> 22)

struct listener {
  struct source source;
  uint32_t address;
  uint16_t port;
  bool wanted;
  struct listener *next;
};

struct name {
  struct name *next;
  struct listener *listeners;
  uint32_t address;
  char text[DNS_NAME_BYTES];
};

static struct name *buckets[BUCKETS];
static uint32_t name_count, listener_count;
static bool accepting = true;

static struct name **place_of(const char *text) {
  uint32_t hash = 2166136261u;
  for (const char *at = text; *at; at++) hash = (hash ^ (uint8_t)*at) * 16777619u;
  struct name **place = &buckets[hash % BUCKETS];
  while (*place && strcmp((*place)->text, text) != 0) place = &(*place)->next;
  return place;
}

uint32_t names_find(const char *text) {
  struct name *name = *place_of(text);
  return name ? name->address : 0;
}

static void connection_waits(struct source *source, uint32_t events) {
  (void)events;
  struct listener *listener = OWNER(source, struct listener, source);
  forward_accept(source->fd, listener->address, listener->port);
}

static int listen_at(struct listener *listener) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(listener->port), .sin_addr.s_addr = htonl(listener->address)};
  listener->source = (struct source){.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), .ready = connection_waits};
  if (listener->source.fd < 0) return errno;
  int on = 1;
  setsockopt(listener->source.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  bool listens = bind(listener->source.fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener->source.fd, BACKLOG) == 0 &&
                 source_watch(&listener->source, accepting ? EPOLLIN : 0);
  int error = listens ? 0 : errno;
  if (error) source_close(&listener->source);
  return error;
}

static void close_listeners(struct name *name, bool unwanted_only) {
  for (struct listener **link = &name->listeners; *link;) {
    struct listener *listener = *link;
    if (unwanted_only && listener->wanted) {
      link = &listener->next;
      continue;
    }
    *link = listener->next;
    source_close(&listener->source);
    free(listener);
    listener_count--;
  }
}

static void release(struct name **place) {
  struct name *name = *place;
  close_listeners(name, false);
  *place = name->next;
  free(name);
  name_count--;
}

static int add_listener(struct name *name, uint16_t port) {
  for (struct listener *listener = name->listeners; listener; listener = listener->next) {
    if (listener->port != port || listener->address != name->address) continue;
    listener->wanted = true;
    return 0;
  }
  if (listener_count >= LISTENER_LIMIT) return EMFILE;
  struct listener *listener = calloc(1, sizeof *listener);
  if (!listener) return ENOMEM;
  listener->address = name->address;
  listener->port = port;
  listener->wanted = true;
  int error = listen_at(listener);
  if (error) {
    free(listener);
    return error == EADDRINUSE ? 0 : error;
  }
  listener->next = name->listeners;
  name->listeners = listener;
  listener_count++;
  return 0;
}

static struct name *find_or_make(const char *text) {
  struct name **place = place_of(text);
  if (*place || name_count >= NAME_LIMIT || strlen(text) >= DNS_NAME_BYTES) return *place;
  struct name *name = calloc(1, sizeof *name);
  if (!name) return NULL;
  memcpy(name->text, text, strlen(text) + 1);
  *place = name;
  name_count++;
  return name;
}

int names_set(const char *text, uint32_t address, struct slice ports) {
  if (address >> 22 != LOOPBACK_PREFIX) return EADDRNOTAVAIL;
  struct name *name = find_or_make(text);
  if (!name) return EMFILE;
  name->address = address;
  for (struct listener *listener = name->listeners; listener; listener = listener->next) listener->wanted = false;
  int error = 0;
  struct reader reader = {ports.bytes, ports.length, true};
  while (!error && reader.left >= 2) error = add_listener(name, wire_read_u16(&reader));
  close_listeners(name, true);
  if (error) names_forget(text);
  return error;
}

void names_forget(const char *text) {
  struct name **place = place_of(text);
  if (*place) release(place);
}

void names_forget_all(void) {
  for (uint32_t i = 0; i < BUCKETS; i++) {
    while (buckets[i]) release(&buckets[i]);
  }
}

void names_each(void (*visit)(const char *name)) {
  for (uint32_t i = 0; i < BUCKETS; i++) {
    for (struct name *name = buckets[i]; name; name = name->next) visit(name->text);
  }
}

void names_accept(bool accept) {
  if (accepting == accept) return;
  accepting = accept;
  for (uint32_t i = 0; i < BUCKETS; i++) {
    for (struct name *name = buckets[i]; name; name = name->next) {
      for (struct listener *listener = name->listeners; listener; listener = listener->next)
        source_watch(&listener->source, accept ? EPOLLIN : 0);
    }
  }
}
