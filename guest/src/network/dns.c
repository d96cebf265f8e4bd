#include "network/dns.h"

#include <string.h>

#define HEADER 12u
#define LABEL_BYTES 63u
#define TYPE_A 1u
#define CLASS_INTERNET 1u
#define ANSWER_BYTES 16u
#define TIME_TO_LIVE 60u
#define FLAGS_RESPONSE 0x80u
#define FLAGS_OPCODE 0x78u
#define FLAGS_RECURSION_WANTED 0x01u
#define FLAGS_RECURSION_AVAILABLE 0x80u

static uint16_t number(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }

static bool is_name_character(char character) {
  return (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9') || character == '-' || character == '_';
}

// Reads the labels of a name. Returns where it ends, 0 when it is none. *plain says whether a host can have such a name.
static size_t read_name(const uint8_t *packet, size_t length, char name[DNS_NAME_BYTES], bool *plain) {
  size_t at = HEADER, written = 0;
  *plain = true;
  while (at < length && packet[at] != 0) {
    size_t label = packet[at++];
    // Also what would point elsewhere in the packet: a question has nothing to point to.
    if (label > LABEL_BYTES || label > length - at || written + label + 1 > DNS_NAME_BYTES) return 0;
    for (size_t i = 0; i < label; i++) {
      char character = (char)packet[at + i];
      if (character >= 'A' && character <= 'Z') character = (char)(character - 'A' + 'a');
      if (!is_name_character(character)) *plain = false;
      name[written++] = character;
    }
    name[written++] = '.';
    at += label;
  }
  if (at >= length) return 0;
  name[written ? written - 1 : 0] = 0;
  if (written == 0) *plain = false;
  return at + 1;
}

void dns_read(const uint8_t *packet, size_t length, struct dns_question *question) {
  *question = (struct dns_question){.wish = DNS_NOTHING};
  if (length < HEADER || packet[2] & FLAGS_RESPONSE) return;
  question->wish = DNS_AN_ANSWER;
  question->code = DNS_NOT_IMPLEMENTED;
  if (packet[2] & FLAGS_OPCODE) return;
  question->code = DNS_MALFORMED;
  bool plain;
  if (length > DNS_PACKET_BYTES || number(packet + 4) != 1) return;
  size_t end = read_name(packet, length, question->name, &plain);
  // The answer must have room for the question too.
  if (end == 0 || length - end < 4 || end + 4 + ANSWER_BYTES > DNS_PACKET_BYTES) {
    question->name[0] = 0;
    return;
  }
  question->bytes = (uint16_t)(end + 4 - HEADER);
  uint16_t type = number(packet + end), class = number(packet + end + 2);
  question->code = DNS_REFUSED;
  if (class != CLASS_INTERNET) return;
  // Only addresses of hosts, and only of the fourth version: there is nothing else to say, and nothing to be carried out in a question.
  question->code = DNS_OK;
  if (type != TYPE_A) return;
  question->code = DNS_NOT_FOUND;
  if (plain) question->wish = DNS_AN_ADDRESS;
}

size_t dns_write(const uint8_t *packet, const struct dns_question *question, enum dns_code code, uint32_t address, uint8_t answer[DNS_PACKET_BYTES]) {
  memset(answer, 0, HEADER);
  memcpy(answer, packet, 2);
  answer[2] = (uint8_t)(FLAGS_RESPONSE | (packet[2] & (FLAGS_OPCODE | FLAGS_RECURSION_WANTED)));
  answer[3] = (uint8_t)(FLAGS_RECURSION_AVAILABLE | code);
  answer[5] = question->bytes ? 1 : 0;
  memcpy(answer + HEADER, packet + HEADER, question->bytes);
  size_t length = HEADER + question->bytes;
  if (address == 0) return length;
  answer[7] = 1;
  const uint8_t record[ANSWER_BYTES] = {0xc0, HEADER, 0, TYPE_A, 0, CLASS_INTERNET, 0, 0, 0, TIME_TO_LIVE, 0, 4,
                                        (uint8_t)(address >> 24), (uint8_t)(address >> 16), (uint8_t)(address >> 8), (uint8_t)address};
  memcpy(answer + length, record, sizeof record);
  return length + sizeof record;
}
