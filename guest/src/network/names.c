#define _GNU_SOURCE
#include "network/names.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop.h"
#include "network/forward.h"

#define BACKLOG 128
// 127.64.0.0/10
#define LOOPBACK_PREFIX (0x7f400000u >> 22)

struct listener {
  struct source source;
  uint32_t scope, address;
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

static uint32_t name_count, listener_count;
static bool accepting = true;

static struct name **place_of(struct scope *scope, const char *text) {
  uint32_t hash = 2166136261u;
  for (const char *at = text; *at; at++) hash = (hash ^ (uint8_t)*at) * 16777619u;
  struct name **place = &scope->names[hash % NAME_BUCKETS];
  while (*place && strcmp((*place)->text, text) != 0) place = &(*place)->next;
  return place;
}

uint32_t names_find(struct scope *scope, const char *text) {
  struct name *name = *place_of(scope, text);
  return name ? name->address : 0;
}

static void connection_waits(struct source *source, uint32_t events) {
  (void)events;
  struct listener *listener = OWNER(source, struct listener, source);
  forward_accept(source->fd, listener->scope, listener->address, listener->port);
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

static int add_listener(const struct scope *scope, struct name *name, uint16_t port) {
  for (struct listener *listener = name->listeners; listener; listener = listener->next) {
    if (listener->port != port || listener->address != name->address) continue;
    listener->wanted = true;
    return 0;
  }
  if (listener_count >= LISTENER_LIMIT) return EMFILE;
  struct listener *listener = calloc(1, sizeof *listener);
  if (!listener) return ENOMEM;
  listener->scope = scope->process;
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

static struct name *find_or_make(struct scope *scope, const char *text) {
  struct name **place = place_of(scope, text);
  if (*place || name_count >= NAME_LIMIT || strlen(text) >= DNS_NAME_BYTES) return *place;
  struct name *name = calloc(1, sizeof *name);
  if (!name) return NULL;
  memcpy(name->text, text, strlen(text) + 1);
  *place = name;
  name_count++;
  return name;
}

static int listen_on(struct scope *scope, struct name *name, struct slice ports) {
  int error = scope_enter(scope);
  if (error) return error;
  struct reader reader = {ports.bytes, ports.length, true};
  while (!error && reader.left >= 2) error = add_listener(scope, name, wire_read_u16(&reader));
  scope_leave(scope);
  return error;
}

int names_set(struct scope *scope, const char *text, uint32_t address, struct slice ports) {
  if (address >> 22 != LOOPBACK_PREFIX) return EADDRNOTAVAIL;
  struct name *name = find_or_make(scope, text);
  if (!name) return EMFILE;
  name->address = address;
  for (struct listener *listener = name->listeners; listener; listener = listener->next) listener->wanted = false;
  int error = listen_on(scope, name, ports);
  close_listeners(name, true);
  if (error) names_forget(scope, text);
  return error;
}

void names_forget(struct scope *scope, const char *text) {
  struct name **place = place_of(scope, text);
  if (*place) release(place);
}

void names_forget_all(struct scope *scope) {
  for (uint32_t i = 0; i < NAME_BUCKETS; i++) {
    while (scope->names[i]) release(&scope->names[i]);
  }
}

static void each(struct scope *scope, void (*visit)(struct scope *scope, struct name *name)) {
  for (uint32_t i = 0; i < NAME_BUCKETS; i++) {
    for (struct name *name = scope->names[i]; name; name = name->next) visit(scope, name);
  }
}

static void (*visitor)(struct scope *scope, const char *name);

static void visit_text(struct scope *scope, struct name *name) { visitor(scope, name->text); }

void names_each(void (*visit)(struct scope *scope, const char *name)) {
  visitor = visit;
  for (struct scope *scope = scope_first(); scope; scope = scope->next) each(scope, visit_text);
}

static void watch_listeners(struct scope *scope, struct name *name) {
  (void)scope;
  for (struct listener *listener = name->listeners; listener; listener = listener->next)
    source_watch(&listener->source, accepting ? EPOLLIN : 0);
}

void names_accept(bool accept) {
  if (accepting == accept) return;
  accepting = accept;
  for (struct scope *scope = scope_first(); scope; scope = scope->next) each(scope, watch_listeners);
}
