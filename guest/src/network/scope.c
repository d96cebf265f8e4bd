#define _GNU_SOURCE
#include "network/scope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link.h"
#include "messages.gen.h"
#include "network/names.h"
#include "network/own-network.h"
#include "network/resolver.h"

static struct scope machine = {.network = -1, .datagrams = {.fd = -1}, .streams = {.fd = -1}};
static uint32_t count;
static bool serving;

struct scope *scope_first(void) { return &machine; }

struct scope *scope_find(uint32_t process) {
  struct scope *scope = &machine;
  while (scope && scope->process != process) scope = scope->next;
  return scope;
}

int scope_enter(const struct scope *scope) { return scope->network < 0 ? 0 : own_network_enter(scope->network); }

void scope_leave(const struct scope *scope) {
  if (scope->network >= 0) own_network_leave();
}

static void told_ended(struct channel *channel) {
  for (struct scope *scope = &machine; scope; scope = scope->next) {
    if (scope->told == channel) scope->told = NULL;
  }
  free(channel);
}

static int tell(struct scope *scope) {
  static const struct channel_kind kind = {.destroy = told_ended};
  if (scope->process == 0 || scope->told) return 0;
  scope->told = calloc(1, sizeof *scope->told);
  if (!scope->told) return ENOMEM;
  channel_open_own(scope->told, &kind, link_stream());
  encode_narrowed(link_output(), scope->told->id, &(struct message_narrowed){scope->process, scope->policy});
  return 0;
}

static int serve(struct scope *scope) {
  int error = tell(scope);
  return error ? error : resolver_open(scope);
}

int scopes_serve(void) {
  int error = 0;
  serving = true;
  for (struct scope *scope = &machine; scope && !error; scope = scope->next) error = serve(scope);
  return error;
}

void scopes_suspend(void) { serving = false; }

static void destroy(struct scope *scope) {
  resolver_close(scope);
  names_forget_all(scope);
  if (scope->network >= 0) close(scope->network);
  free((void *)scope->policy.bytes);
  free(scope);
}

static struct scope *make(uint32_t process, struct slice policy) {
  struct scope *scope = calloc(1, sizeof *scope);
  uint8_t *copy = malloc(policy.length + 1);
  if (!scope || !copy) {
    free(scope);
    free(copy);
    return NULL;
  }
  memcpy(copy, policy.bytes, policy.length);
  scope->process = process;
  scope->policy = (struct slice){copy, policy.length};
  scope->datagrams.fd = scope->streams.fd = -1;
  scope->network = own_network_create();
  return scope;
}

int scope_create(uint32_t process, struct slice policy) {
  if (!own_network_is_possible()) return EOPNOTSUPP;
  if (count >= SCOPE_LIMIT) return EAGAIN;
  struct scope *scope = make(process, policy);
  if (!scope) return ENOMEM;
  int error = scope->network < 0 ? -scope->network : 0;
  if (!error && serving) error = serve(scope);
  if (error) {
    destroy(scope);
    return error;
  }
  scope->next = machine.next;
  machine.next = scope;
  count++;
  return 0;
}

void scope_release(uint32_t process) {
  for (struct scope **link = &machine.next; *link; link = &(*link)->next) {
    struct scope *scope = *link;
    if (scope->process != process) continue;
    *link = scope->next;
    count--;
    if (scope->told) {
      encode_close(link_output(), scope->told->id);
      channel_end(scope->told);
    }
    destroy(scope);
    return;
  }
}

void scope_release_all(void) {
  while (machine.next) scope_release(machine.next->process);
  resolver_close(&machine);
  names_forget_all(&machine);
}
