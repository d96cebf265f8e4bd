#define _GNU_SOURCE
#include "network/socket-inode.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 32768u
#define CHUNKS 64
#define FIELDS_TO_INODE 7  // from the remote address

// The field behind so many others; NULL when the line has ended before.
static const char *skip_fields(const char *at, int count) {
  for (; count > 0; count--) {
    at += strcspn(at, " \n");
    at += strspn(at, " ");
  }
  return *at && *at != '\n' ? at : NULL;
}

static uint64_t inode_in(const char *text, uint32_t from, uint16_t from_port, uint32_t to, uint16_t to_port) {
  char local[16], remote[16];
  // The kernel prints the bytes of the address as one number of its own order.
  snprintf(local, sizeof local, "%08X:%04X ", htonl(from), from_port);
  snprintf(remote, sizeof remote, "%08X:%04X", htonl(to), to_port);
  // " 0: 0100007F:A3C4 0140407F:01BB 01 ...": of IPv6 the last part of each address, where a mapped one has the address.
  for (const char *at = text; (at = strstr(at, local)); at++) {
    const char *other = at + strlen(local);
    size_t length = strcspn(other, " \n");
    if (length < strlen(remote) || strncmp(other + length - strlen(remote), remote, strlen(remote)) != 0) continue;
    const char *inode = skip_fields(other, FIELDS_TO_INODE);
    return inode ? strtoull(inode, NULL, 10) : 0;
  }
  return 0;
}

static uint64_t search(const char *path, uint32_t from, uint16_t from_port, uint32_t to, uint16_t to_port) {
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  static char text[CHUNK + 1];
  uint64_t inode = 0;
  size_t kept = 0;
  for (int i = 0; inode == 0 && i < CHUNKS; i++) {
    ssize_t count = read(descriptor, text + kept, CHUNK - kept);
    if (count <= 0) break;
    size_t length = kept + (size_t)count;
    text[length] = 0;
    // A line that is cut waits for its rest.
    char *end = memrchr(text, '\n', length);
    if (!end) break;
    *end = 0;
    inode = inode_in(text, from, from_port, to, to_port);
    kept = length - (size_t)(end + 1 - text);
    memmove(text, end + 1, kept);
  }
  close(descriptor);
  return inode;
}

uint64_t socket_inode(uint32_t from, uint16_t from_port, uint32_t to, uint16_t to_port) {
  uint64_t inode = search("/proc/net/tcp", from, from_port, to, to_port);
  // Programs that speak the sixth version reach the fourth through mapped addresses.
  return inode ? inode : search("/proc/net/tcp6", from, from_port, to, to_port);
}
