#define _GNU_SOURCE
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

static int open_peer(int controller) {
  int unlock = 0, number;
  if (ioctl(controller, TIOCSPTLCK, &unlock) != 0) return -1;
  int peer = ioctl(controller, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (peer >= 0) return peer;
  if (ioctl(controller, TIOCGPTN, &number) != 0) return -1;
  char path[32];
  snprintf(path, sizeof path, "/dev/pts/%d", number);
  return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

int terminal_open(int *controller, int *terminal, uint16_t rows, uint16_t cols, uid_t owner) {
  *controller = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
  if (*controller < 0) return errno;
  *terminal = open_peer(*controller);
  if (*terminal < 0) {
    int error = errno;
    close(*controller);
    return error;
  }
  struct winsize size = {.ws_row = rows ? rows : 24, .ws_col = cols ? cols : 80};
  ioctl(*controller, TIOCSWINSZ, &size);
  // The program may want to open its terminal again by name. Where ids cannot be changed it is the owner already.
  if (fchown(*terminal, owner, (gid_t)-1) == 0) fchmod(*terminal, 0620);
  return 0;
}
