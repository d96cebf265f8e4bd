#define _GNU_SOURCE
#include "network/java-store.h"

#include <stdio.h>
#include <string.h>

#include "network/sha1.h"

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END "-----END CERTIFICATE-----"
#define MAGIC 0xfeedfeedu
#define VERSION 2u
#define TRUSTED 2u
#define COUNT_OFFSET 8u
// In two bytes a character, and what Java adds to it.
#define PASSWORD "\0c\0h\0a\0n\0g\0e\0i\0t"
#define SALT "Mighty Aphrodite"

static void put_number(uint8_t *at, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

static void append_number(struct buffer *out, uint64_t value, int bytes) {
  uint8_t number[8];
  put_number(number, value, bytes);
  buffer_append(out, number, (size_t)bytes);
}

static void append_text(struct buffer *out, const char *text) {
  append_number(out, strlen(text), 2);
  buffer_append(out, text, strlen(text));
}

// Of each character one more than its value; of all others nothing.
static const uint8_t *values_of_characters(void) {
  static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  static uint8_t values[256];
  if (values[(uint8_t)ALPHABET[0]] == 0) {
    for (uint8_t i = 0; ALPHABET[i]; i++) values[(uint8_t)ALPHABET[i]] = (uint8_t)(i + 1);
  }
  return values;
}

// What is between the two lines, decoded; white space and padding mean nothing.
static void append_decoded(struct buffer *out, const uint8_t *text, size_t length) {
  const uint8_t *values = values_of_characters();
  if (!buffer_reserve(out, length)) return;
  uint32_t bits = 0;
  int count = 0;
  for (size_t i = 0; i < length; i++) {
    uint8_t value = values[text[i]];
    if (value == 0) continue;
    bits = bits << 6 | (value - 1u);
    count += 6;
    if (count >= 8) out->bytes[out->length++] = (uint8_t)(bits >> (count -= 8));
  }
}

static void append_entry(struct buffer *out, uint32_t number, const uint8_t *text, size_t length) {
  char alias[16];
  snprintf(alias, sizeof alias, "hearth-%u", number);
  append_number(out, TRUSTED, 4);
  append_text(out, alias);
  append_number(out, 0, 8);
  append_text(out, "X.509");
  size_t place = out->length;
  append_number(out, 0, 4);
  append_decoded(out, text, length);
  if (!out->failed) put_number(out->bytes + place, out->length - place - 4, 4);
}

static void append_digest(struct buffer *out, size_t start) {
  struct sha1 sha1;
  uint8_t digest[SHA1_BYTES];
  sha1_begin(&sha1);
  sha1_add(&sha1, PASSWORD, sizeof PASSWORD - 1);
  sha1_add(&sha1, SALT, sizeof SALT - 1);
  sha1_add(&sha1, out->bytes + start, out->length - start);
  sha1_end(&sha1, digest);
  buffer_append(out, digest, sizeof digest);
}

bool java_store_write(struct slice certificates, struct buffer *store) {
  size_t start = store->length;
  uint32_t count = 0;
  append_number(store, MAGIC, 4);
  append_number(store, VERSION, 4);
  append_number(store, 0, 4);
  const uint8_t *at = certificates.bytes, *last = at + certificates.length;
  while ((at = memmem(at, (size_t)(last - at), BEGIN, sizeof BEGIN - 1))) {
    at += sizeof BEGIN - 1;
    const uint8_t *end = memmem(at, (size_t)(last - at), END, sizeof END - 1);
    if (!end) break;
    append_entry(store, ++count, at, (size_t)(end - at));
    at = end;
  }
  if (store->failed) return false;
  put_number(store->bytes + start + COUNT_OFFSET, count, 4);
  append_digest(store, start);
  return !store->failed;
}
