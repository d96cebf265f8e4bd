#include "tar-writer.h"

#include <stdio.h>
#include <string.h>

#include "tar-format.h"

#define PAX_BYTES 16384

int tar_writer_pad(struct buffered_output *writer, uint64_t length) {
  static const uint8_t zeros[TAR_BLOCK];
  return buffered_bytes(writer, zeros, (size_t)((TAR_BLOCK - length % TAR_BLOCK) % TAR_BLOCK));
}

static int write_block(struct buffered_output *writer, struct tar_header *header) {
  memcpy(header->magic, "ustar", 6);
  memcpy(header->version, "00", 2);
  snprintf(header->checksum, sizeof header->checksum, "%06o", tar_checksum(header));
  header->checksum[7] = ' ';
  return buffered_bytes(writer, header, sizeof *header);
}

// "length key=value\n", where the length counts its own digits.
static void add_record(char *records, size_t *length, const char *key, const char *value) {
  size_t content = strlen(key) + strlen(value) + 3, total = content + 1;
  char digits[24];
  while ((size_t)snprintf(digits, sizeof digits, "%zu", total) + content != total) total++;
  if (*length + total < PAX_BYTES) *length += (size_t)snprintf(records + *length, PAX_BYTES - *length, "%s %s=%s\n", digits, key, value);
}

static void add_number(char *records, size_t *length, const char *key, uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)value);
  add_record(records, length, key, text);
}

static int write_records(struct buffered_output *writer, const char *records, size_t length) {
  if (length == 0) return 0;
  struct tar_header header = {.type = 'x'};
  strcpy(header.name, "PaxHeaders/entry");
  tar_write_number(header.mode, sizeof header.mode, 0644);
  tar_write_number(header.uid, sizeof header.uid, 0);
  tar_write_number(header.gid, sizeof header.gid, 0);
  tar_write_number(header.mtime, sizeof header.mtime, 0);
  tar_write_number(header.size, sizeof header.size, length);
  int error = write_block(writer, &header);
  if (!error) error = buffered_bytes(writer, records, length);
  return error ? error : tar_writer_pad(writer, length);
}

static void put_text(char *field, size_t width, const char *text, char *records, size_t *length, const char *key) {
  size_t size = strlen(text);
  memcpy(field, text, size < width ? size : width);
  if (size > width) add_record(records, length, key, text);
}

int tar_writer_header(struct buffered_output *writer, char type, const char *name, const char *link, const struct stat *status, uint64_t size) {
  char records[PAX_BYTES];
  size_t length = 0;
  struct tar_header header = {.type = type};
  put_text(header.name, sizeof header.name, name, records, &length, "path");
  if (link) put_text(header.link, sizeof header.link, link, records, &length, "linkpath");
  tar_write_number(header.mode, sizeof header.mode, status->st_mode & 07777);
  if (!tar_write_number(header.uid, sizeof header.uid, status->st_uid)) add_number(records, &length, "uid", status->st_uid);
  if (!tar_write_number(header.gid, sizeof header.gid, status->st_gid)) add_number(records, &length, "gid", status->st_gid);
  if (!tar_write_number(header.size, sizeof header.size, size)) add_number(records, &length, "size", size);
  tar_write_number(header.mtime, sizeof header.mtime, status->st_mtim.tv_sec > 0 ? (uint64_t)status->st_mtim.tv_sec : 0);
  int error = write_records(writer, records, length);
  return error ? error : write_block(writer, &header);
}
