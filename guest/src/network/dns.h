// Questions and answers of the domain name system, as far as a sandbox needs them. Nothing here touches a socket.
#ifndef HEARTH_NETWORK_DNS_H
#define HEARTH_NETWORK_DNS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DNS_PACKET_BYTES 512u
#define DNS_NAME_BYTES 254u  // with the zero byte

enum dns_code { DNS_OK = 0, DNS_MALFORMED = 1, DNS_FAILED = 2, DNS_NOT_FOUND = 3, DNS_NOT_IMPLEMENTED = 4, DNS_REFUSED = 5 };

enum dns_wish {
  DNS_NOTHING,    // not a question: no answer
  DNS_AN_ANSWER,  // `code`, whatever the name is
  DNS_AN_ADDRESS, // of `name`
};

struct dns_question {
  enum dns_wish wish;
  enum dns_code code;
  uint16_t bytes;             // of the question behind the header, to be repeated; 0 when it could not be read
  char name[DNS_NAME_BYTES];  // lower case, without the final dot
};

void dns_read(const uint8_t *packet, size_t length, struct dns_question *question);
// An answer to the packet that the question was read from; address 0: none. Returns its length.
size_t dns_write(const uint8_t *packet, const struct dns_question *question, enum dns_code code, uint32_t address, uint8_t answer[DNS_PACKET_BYTES]);
#endif
