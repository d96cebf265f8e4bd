#define _GNU_SOURCE
#include "nursery.h"
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define OWNER 3
// Engines ask for many keepers at once.
#define WAITING 128

static int listen_as(const char *name) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(name) >= sizeof address.sun_path) return -1;
  strcpy(address.sun_path, name);
  umask(0177);
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bool ready = listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, WAITING) == 0;
  return ready ? listener : -1;
}

static _Noreturn void become_keeper(int engine) {
  signal(SIGCHLD, SIG_DFL);
  setsid();
  // Its own directory keeps no file system busy.
  if (chdir("/") != 0 || dup2(engine, OWNER) < 0) _exit(1);
  _exit(keeper_main(0, NULL));
}

static void make_keeper(int listener) {
  int engine = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (engine < 0) return;
  struct ucred peer;
  socklen_t size = sizeof peer;
  bool known = getsockopt(engine, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
  if (known && fork() == 0) become_keeper(engine);
  // Without a keeper the engine sees its connection close.
  close(engine);
}

int nursery_main(int argc, char **argv) {
  if (argc != 2) return 2;
  setsid();
  // Keepers that end are nobody's to wait for.
  signal(SIGCHLD, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  int listener = listen_as(argv[1]);
  if (listener < 0 || write(OWNER, "", 1) != 1) return 1;
  struct pollfd polls[2] = {{OWNER, POLLIN, 0}, {listener, POLLIN, 0}};
  for (;;) {
    if (poll(polls, 2, -1) < 0 && errno != EINTR) break;
    if (polls[1].revents) make_keeper(listener);
    if (polls[0].revents) break;
  }
  unlink(argv[1]);
  return 0;
}
