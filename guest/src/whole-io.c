#include "whole-io.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

int read_whole(int input, void *target, size_t length) {
  for (size_t done = 0; done < length;) {
    ssize_t count = read(input, (uint8_t *)target + done, length - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : EBADMSG;
    done += (size_t)count;
  }
  return 0;
}

int write_whole(int output, const void *bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    ssize_t count = write(output, (const uint8_t *)bytes + done, length - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : ENOSPC;
    done += (size_t)count;
  }
  return 0;
}
