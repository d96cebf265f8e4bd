// Arbitrary packets as questions to the resolver: whatever is read must be answered within its bounds.
#include <stdlib.h>
#include <string.h>

#include "network/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  struct dns_question question;
  dns_read(bytes, length, &question);
  if (question.wish == DNS_NOTHING) return 0;
  if (!memchr(question.name, 0, DNS_NAME_BYTES)) __builtin_trap();
  for (const char *at = question.name; question.wish == DNS_AN_ADDRESS && *at; at++) {
    if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.", *at)) __builtin_trap();
  }
  // Of its exact size, so that a byte beyond is found.
  uint8_t *packet = malloc(length);
  memcpy(packet, bytes, length);
  uint8_t answer[DNS_PACKET_BYTES];
  for (int code = DNS_OK; code <= DNS_REFUSED; code++) {
    size_t written = dns_write(packet, &question, (enum dns_code)code, code == DNS_OK && question.wish == DNS_AN_ADDRESS ? 0x7f400001u : 0, answer);
    if (written < 12 || written > sizeof answer || memcmp(answer, bytes, 2) != 0 || (answer[3] & 15) != code) __builtin_trap();
  }
  free(packet);
  return 0;
}
