#define _GNU_SOURCE
#include "network/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "network/java-store.h"
#include "paths.h"
#include "temporary-name.h"
#include "whole-io.h"

#define RESOLVER_TEXT "nameserver 127.0.0.53\n"
// Everything from here on is of an earlier time.
#define MARK "\n# The certificate authority of this sandbox\n"

// Where distributions keep what they trust.
static const char *const SYSTEM_FILES[] = {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"};

// The same, of Java.
static const char *const JAVA_FILES[] = {"/etc/ssl/certs/java/cacerts", "/etc/pki/java/cacerts", "/opt/java/openjdk/lib/security/cacerts"};

// Opens a regular file and nothing else: not a pipe, which could make the guest wait, nor a device.
static int open_regular(const char *path, int flags, struct stat *status) {
  int descriptor = open(path, flags | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return -1;
  if (fstat(descriptor, status) == 0 && S_ISREG(status->st_mode)) return descriptor;
  close(descriptor);
  errno = EINVAL;
  return -1;
}

// Appends the file; false when it cannot be read or is too long.
static bool read_file(const char *path, struct buffer *content) {
  struct stat status;
  int descriptor = open_regular(path, O_RDONLY, &status);
  if (descriptor < 0) return false;
  size_t length = status.st_size > 0 ? (size_t)status.st_size : 0;
  bool read = length > 0 && length <= TRUST_BYTES && buffer_reserve(content, length) && read_whole(descriptor, content->bytes, length) == 0;
  close(descriptor);
  content->length = read ? length : 0;
  return read;
}

static int write_new(const char *path, const void *bytes, size_t length) {
  int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (descriptor < 0) return errno;
  int error = write_whole(descriptor, bytes, length);
  close(descriptor);
  return error;
}

// A file that something is mounted on keeps its place.
static int write_in_place(const char *path, const void *bytes, size_t length) {
  struct stat status;
  int descriptor = open_regular(path, O_WRONLY | O_NOFOLLOW, &status);
  if (descriptor < 0) return errno;
  int error = ftruncate(descriptor, 0) == 0 ? write_whole(descriptor, bytes, length) : errno;
  close(descriptor);
  return error;
}

// The file appears at once and takes the place of whatever is there: a link is replaced, never followed.
static int place(const char *path, const void *bytes, size_t length) {
  static const struct user guest = {0};
  char temporary[PATH_BYTES];
  int error = path_make_parents(path, &guest);
  if (!error) error = temporary_name(path, true, temporary);
  if (!error) error = write_new(temporary, bytes, length);
  if (error) return error;
  if (rename(temporary, path) == 0) return 0;
  error = errno;
  unlink(temporary);
  return error == EBUSY ? write_in_place(path, bytes, length) : error;
}

int network_write_resolver(void) {
  struct buffer content = {0};
  size_t length = sizeof RESOLVER_TEXT - 1;
  bool same = read_file(RESOLVER_FILE, &content) && content.length == length && memcmp(content.bytes, RESOLVER_TEXT, length) == 0;
  free(content.bytes);
  return same ? 0 : place(RESOLVER_FILE, RESOLVER_TEXT, length);
}

static int write_java_store(struct slice certificates, bool has_system_file) {
  struct buffer store = {0};
  int error = java_store_write(certificates, &store) ? place(JAVA_TRUST_FILE, store.bytes, store.length) : ENOMEM;
  // Not where it would hold the one certificate alone: what the template's own store trusts is not known then.
  for (size_t i = 0; !error && has_system_file && i < sizeof JAVA_FILES / sizeof *JAVA_FILES; i++) {
    if (access(JAVA_FILES[i], F_OK) == 0) place(JAVA_FILES[i], store.bytes, store.length);
  }
  free(store.bytes);
  return error;
}

int network_write_authority(struct slice certificate) {
  struct buffer content = {0};
  const char *system_file = NULL;
  for (size_t i = 0; !system_file && i < sizeof SYSTEM_FILES / sizeof *SYSTEM_FILES; i++) {
    if (read_file(SYSTEM_FILES[i], &content)) system_file = SYSTEM_FILES[i];
  }
  uint8_t *mark = content.length ? memmem(content.bytes, content.length, MARK, sizeof MARK - 1) : NULL;
  if (mark) content.length = (size_t)(mark - content.bytes);
  buffer_append(&content, MARK, sizeof MARK - 1);
  buffer_append(&content, certificate.bytes, certificate.length);
  int error = content.failed ? ENOMEM : place(TRUST_FILE, content.bytes, content.length);
  // For programs that were started without the variables.
  if (!error && system_file) place(system_file, content.bytes, content.length);
  if (!error) error = write_java_store((struct slice){content.bytes, (uint32_t)content.length}, system_file != NULL);
  free(content.bytes);
  return error;
}
