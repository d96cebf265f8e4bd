// Names that the host is being asked for.
#ifndef HEARTH_NETWORK_LOOKUP_H
#define HEARTH_NETWORK_LOOKUP_H
#include "network/dns.h"
#include "network/scope.h"

#define LOOKUP_LIMIT 256u  // for programs, at one time

// Somebody who waits for an answer, and the packet with the question.
struct asker {
  uint32_t scope;   // in whose network
  uint32_t stream;  // 0: a datagram came from `address` and `port`
  uint32_t address;
  uint16_t port;    // both in network order
  struct dns_question question;
  uint8_t packet[DNS_PACKET_BYTES];
};

// Answers through resolver_answer, now or later.
void lookup_for(const struct asker *asker);
// Asks again for a name that is known, since the answer may have changed.
void lookup_again(struct scope *scope, const char *name);
#endif
