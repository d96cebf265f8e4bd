#include "network/network.h"

#include "answer.h"
#include "network/files.h"
#include "network/forward.h"
#include "network/lookup.h"
#include "network/names.h"
#include "network/resolver.h"
#include "network/scope.h"
#include "requests.h"

void serve_network(uint32_t channel, const struct message_network *message) {
  int error = scopes_serve();
  if (error) return answer_failed(channel, error, "the resolver of the sandbox");
  error = network_write_resolver();
  if (error) return answer_failed(channel, error, RESOLVER_FILE);
  error = message->authority.length ? network_write_authority(message->authority) : 0;
  if (error) return answer_failed(channel, error, TRUST_FILE);
  resolver_serve(true);
  forward_serve(true);
  answer_done(channel, 0);
  names_each(lookup_again);
}

void network_suspend(void) {
  scopes_suspend();
  resolver_serve(false);
  forward_serve(false);
}

void network_close(void) {
  forward_close();
  scope_release_all();
}
