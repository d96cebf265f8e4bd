#include "tar-reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tar-format.h"

#define EXTENSION_LIMIT 65536u

// What pax records or GNU's long names say about the entry that follows.
struct extension {
  bool has_size, has_modified;
  uint64_t size, modified;
  char name[TAR_NAME_BYTES], link[TAR_NAME_BYTES];
};

int tar_reader_content(struct tar_reader *reader, const uint8_t **bytes, uint64_t limit) {
  while (reader->position == reader->length && !reader->at_end) {
    ssize_t count = read(reader->input, reader->buffer, sizeof reader->buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    reader->position = 0;
    reader->length = (size_t)count;
    reader->at_end = count == 0;
  }
  uint64_t available = reader->length - reader->position;
  if (available > limit) available = limit;
  *bytes = reader->buffer + reader->position;
  reader->position += (size_t)available;
  return (int)available;
}

// Exactly that many bytes. 0, 1 when the stream ended before the first one, or a negative errno.
static int read_exactly(struct tar_reader *reader, void *target, size_t length) {
  for (size_t done = 0; done < length;) {
    const uint8_t *bytes;
    int count = tar_reader_content(reader, &bytes, length - done);
    if (count < 0) return count;
    if (count == 0) return done == 0 ? 1 : -EBADMSG;
    memcpy((uint8_t *)target + done, bytes, (size_t)count);
    done += (size_t)count;
  }
  return 0;
}

int tar_reader_skip(struct tar_reader *reader, uint64_t bytes) {
  while (bytes) {
    const uint8_t *ignored;
    int count = tar_reader_content(reader, &ignored, bytes);
    if (count <= 0) return count < 0 ? count : -EBADMSG;
    bytes -= (uint64_t)count;
  }
  return 0;
}

static uint64_t padding_after(uint64_t size) { return (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK; }

static bool parse_decimal(const char *text, const char *end, uint64_t *value) {
  *value = 0;
  if (text == end) return false;
  for (; text < end && *text >= '0' && *text <= '9'; text++) {
    if (*value > UINT64_MAX / 10 - 9) return false;
    *value = *value * 10 + (uint64_t)(*text - '0');
  }
  // A fraction of a second is left out.
  return text == end || *text == '.';
}

static bool copy_text(char target[TAR_NAME_BYTES], const char *text, size_t length) {
  if (length >= TAR_NAME_BYTES || memchr(text, 0, length)) return false;
  memcpy(target, text, length);
  target[length] = 0;
  return true;
}

static bool take_record(struct extension *extension, const char *key, size_t key_length, const char *value, const char *end) {
  size_t length = (size_t)(end - value);
  if (key_length == 4 && memcmp(key, "path", 4) == 0) return copy_text(extension->name, value, length);
  if (key_length == 8 && memcmp(key, "linkpath", 8) == 0) return copy_text(extension->link, value, length);
  if (key_length == 4 && memcmp(key, "size", 4) == 0) return extension->has_size = parse_decimal(value, end, &extension->size);
  // A time before 1970 is not worth refusing an archive.
  if (key_length == 5 && memcmp(key, "mtime", 5) == 0) extension->has_modified = parse_decimal(value, end, &extension->modified);
  // Sparse files come in a layout of their own, which we do not read.
  return key_length < 10 || memcmp(key, "GNU.sparse", 10) != 0;
}

static bool parse_records(struct extension *extension, const char *text, size_t length) {
  while (length) {
    const char *space = memchr(text, ' ', length);
    uint64_t size;
    if (!space || !parse_decimal(text, space, &size) || size > length || size < (size_t)(space - text) + 3) return false;
    const char *key = space + 1, *end = text + size - 1;
    const char *equals = memchr(key, '=', (size_t)(end - key));
    if (!equals || *end != '\n' || !take_record(extension, key, (size_t)(equals - key), equals + 1, end)) return false;
    text += size;
    length -= size;
  }
  return true;
}

static int read_extension(struct tar_reader *reader, char type, uint64_t size, struct extension *extension) {
  static char text[EXTENSION_LIMIT];
  if (size > sizeof text) return -EBADMSG;
  int error = read_exactly(reader, text, (size_t)size);
  if (error) return error < 0 ? error : -EBADMSG;
  error = tar_reader_skip(reader, padding_after(size));
  if (error) return error;
  if (type == 'g') return 0;
  if (type == 'x') return parse_records(extension, text, (size_t)size) ? 0 : -EBADMSG;
  size_t length = strnlen(text, (size_t)size);
  return copy_text(type == 'L' ? extension->name : extension->link, text, length) ? 0 : -EBADMSG;
}

static void join_name(char *target, const struct tar_header *header) {
  size_t prefix = memcmp(header->magic, "ustar", 6) == 0 ? strnlen(header->prefix, sizeof header->prefix) : 0;
  memcpy(target, header->prefix, prefix);
  if (prefix) target[prefix++] = '/';
  size_t length = strnlen(header->name, sizeof header->name);
  memcpy(target + prefix, header->name, length);
  target[prefix + length] = 0;
}

static bool fill_entry(struct tar_entry *entry, const struct tar_header *header, const struct extension *extension) {
  uint64_t mode;
  if (!tar_read_number(header->mode, sizeof header->mode, &mode) || !tar_read_number(header->size, sizeof header->size, &entry->size)) return false;
  if (!tar_read_number(header->mtime, sizeof header->mtime, &entry->modified)) entry->modified = 0;
  entry->type = header->type;
  entry->mode = (uint32_t)(mode & 07777);
  join_name(entry->name, header);
  memcpy(entry->link, header->link, sizeof header->link);
  entry->link[sizeof header->link] = 0;
  if (extension->name[0]) memcpy(entry->name, extension->name, sizeof entry->name);
  if (extension->link[0]) memcpy(entry->link, extension->link, sizeof entry->link);
  if (extension->has_size) entry->size = extension->size;
  if (extension->has_modified) entry->modified = extension->modified;
  return entry->size <= INT64_MAX / 2;
}

int tar_reader_next(struct tar_reader *reader, struct tar_entry *entry) {
  static struct extension extension;
  extension = (struct extension){0};
  for (;;) {
    struct tar_header header;
    uint64_t checksum, size;
    int error = read_exactly(reader, &header, sizeof header);
    if (error) return error < 0 ? error : 0;
    if (tar_is_zero(&header)) return 0;
    if (!tar_read_number(header.checksum, sizeof header.checksum, &checksum) || checksum != tar_checksum(&header)) return -EBADMSG;
    if (!memchr("xgLK", header.type, 4) || !header.type) return fill_entry(entry, &header, &extension) ? 1 : -EBADMSG;
    if (!tar_read_number(header.size, sizeof header.size, &size)) return -EBADMSG;
    error = read_extension(reader, header.type, size, &extension);
    if (error) return error;
  }
}
