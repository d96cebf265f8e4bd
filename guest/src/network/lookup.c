#include "network/lookup.h"

#include <errno.h>

#include "channel.h"
#include "link.h"
#include "loop.h"
#include "messages.gen.h"
#include "network/names.h"
#include "network/resolver.h"

struct lookup {
  struct channel channel;
  struct asker *asker;  // none: nobody waits
  uint32_t scope;
  char name[DNS_NAME_BYTES];
};

static uint32_t under_way;

static struct lookup *of(struct channel *channel) { return OWNER(channel, struct lookup, channel); }

static void destroy(struct channel *channel) {
  struct lookup *lookup = of(channel);
  // The host went away before it answered.
  if (lookup->asker) {
    under_way--;
    resolver_answer(lookup->asker, DNS_FAILED, 0);
  }
  free(lookup->asker);
  free(lookup);
}

static void answered(struct channel *channel, const struct message_address *message) {
  struct lookup *lookup = of(channel);
  struct scope *scope = scope_find(lookup->scope);
  int error = scope ? 0 : ENOENT;
  if (scope && message->address == 0) names_forget(scope, lookup->name);
  else if (scope) error = names_set(scope, lookup->name, message->address, message->ports);
  if (lookup->asker) {
    enum dns_code code = error ? DNS_FAILED : message->address == 0 ? DNS_NOT_FOUND : DNS_OK;
    resolver_answer(lookup->asker, code, error ? 0 : message->address);
    free(lookup->asker);
    lookup->asker = NULL;
    under_way--;
  }
  channel_end(channel);
}

static struct lookup *begin(uint32_t scope, const char *name) {
  static const struct channel_kind kind = {.address = answered, .destroy = destroy};
  struct lookup *lookup = calloc(1, sizeof *lookup);
  if (!lookup) return NULL;
  lookup->scope = scope;
  memcpy(lookup->name, name, strlen(name) + 1);
  channel_open_own(&lookup->channel, &kind, link_stream());
  encode_lookup(link_output(), lookup->channel.id, &(struct message_lookup){slice_of(name), scope});
  return lookup;
}

void lookup_again(struct scope *scope, const char *name) { begin(scope->process, name); }

void lookup_for(const struct asker *asker) {
  struct asker *copy = under_way < LOOKUP_LIMIT ? malloc(sizeof *copy) : NULL;
  struct lookup *lookup = copy ? begin(asker->scope, asker->question.name) : NULL;
  if (!lookup) {
    free(copy);
    resolver_answer(asker, DNS_FAILED, 0);
    return;
  }
  *copy = *asker;
  lookup->asker = copy;
  under_way++;
}
