#define _GNU_SOURCE
#include "volumes.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sched.h>

#include "../descriptors.h"
#include "../keeper/numbers.h"
#include "../keeper/text-file.h"
#include "box.h"
#include "serve.h"

#define STREAM 3  // and the roots behind it
#define USAGE "usage: hearth-guest volumes DESCRIPTOR WINDOW HELD BASE DIRECTORY rw|ro ... -- COMMAND ..."

struct order {
  int descriptor;        // of the command: its end of the stream
  int window;            // of the command: its disk
  int held;              // a file that says how many files are held
  uint64_t base;         // of the ids of the sandbox, 0: this process has them already
  const char *directory; // holds the volumes, each under its number
  struct volume_root roots[VOLUME_LIMIT];
  size_t count;
  char **command;
};

static bool parse(int argc, char **argv, struct order *order) {
  uint64_t numbers[3];
  if (argc < 8 || !parse_number(argv[4], 10, UINT32_MAX, &order->base)) return false;
  for (int i = 0; i < 3; i++)
    if (!parse_number(argv[1 + i], 10, 1023, &numbers[i])) return false;
  order->descriptor = (int)numbers[0];
  order->window = (int)numbers[1];
  order->held = (int)numbers[2];
  order->directory = argv[5];
  int at = 6;
  for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
    bool read_only = strcmp(argv[at], "ro") == 0;
    if (order->count == VOLUME_LIMIT || (!read_only && strcmp(argv[at], "rw") != 0)) return false;
    order->roots[order->count++] = (struct volume_root){-1, read_only};
  }
  order->command = argv + at + 1;
  return order->count > 0 && at + 1 < argc;
}

static int fail(const char *what) {
  fprintf(stderr, "hearth-guest: volumes: %s: %s\n", what, strerror(errno));
  return 1;
}

// Where the command is not root of a namespace of its own this process makes itself one; `word` comes when its ids are written.
static bool own_ids(int told, int word) {
  char byte = 0;
  if (unshare(CLONE_NEWUSER) != 0 || write(told, &byte, 1) != 1 || read(word, &byte, 1) != 1) return false;
  return setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0;
}

static bool write_ids(pid_t child, uint64_t base, int told, int word) {
  char path[64], text[64], byte;
  if (read(told, &byte, 1) != 1) return false;
  int length = snprintf(text, sizeof text, "0 %llu 65536", (unsigned long long)base);
  const char *const maps[] = {"uid_map", "gid_map"};
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "/proc/%d/%s", child, maps[i]);
    if (!text_file_put(path, text, (size_t)length)) return false;
  }
  return write(word, &byte, 1) == 1;
}

static volatile uint32_t *map_held(int descriptor) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  // It was opened for reading, by somebody else.
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(uint32_t)) != 0) return NULL;
  void *shared = mmap(NULL, sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return shared == MAP_FAILED ? NULL : shared;
}

// A memory of its own, which the command has as a file.
static int make_window(uint8_t **bytes) {
  int file = memfd_create("window", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, VOLUME_WINDOW_BYTES) != 0) return -1;
  *bytes = mmap(NULL, VOLUME_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return *bytes == MAP_FAILED ? -1 : file;
}

static bool open_roots(struct order *order) {
  for (size_t i = 0; i < order->count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%zu", order->directory, i);
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0) return false;
    order->roots[i].descriptor = fcntl(root, F_DUPFD_CLOEXEC, STREAM + 2 + (int)VOLUME_LIMIT);
  }
  return true;
}

// The stream, the roots from STREAM on, and where to say that it is ready; nothing else: the standard ones are the machine's link.
static bool keep_descriptors(struct order *order, int stream, int *ready) {
  int above = STREAM + 2 + (int)VOLUME_LIMIT, last = STREAM + 1 + (int)order->count;
  if ((*ready = fcntl(*ready, F_DUPFD_CLOEXEC, above)) < 0) return false;
  if ((stream = fcntl(stream, F_DUPFD_CLOEXEC, above)) < 0 || dup2(stream, STREAM) < 0) return false;
  for (size_t i = 0; i < order->count; i++) {
    int number = STREAM + 1 + (int)i;
    if (dup2(order->roots[i].descriptor, number) < 0) return false;
    order->roots[i].descriptor = number;
  }
  if (dup2(*ready, last) < 0) return false;
  *ready = last;
  close_from((unsigned)last + 1);
  int nothing = open("/dev/null", O_RDWR);
  if (nothing < 0) return false;
  for (int i = 0; i < 3; i++) dup2(nothing, i);
  close(nothing);
  return true;
}

static bool write_all(const uint8_t *bytes, size_t length) {
  for (size_t sent = 0; sent < length;) {
    ssize_t count = write(STREAM, bytes + sent, length - sent);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += (size_t)count;
  }
  return true;
}

// Ends when the machine does, or says what is no request.
static void run(volatile uint32_t *held) {
  static uint8_t bytes[2 * VOLUME_REQUEST_LIMIT];
  static struct volume_reply reply;
  for (size_t length = 0;;) {
    ssize_t count = read(STREAM, bytes + length, sizeof bytes - length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    length += (size_t)count;
    size_t at = 0;
    uint32_t size;
    while (length - at >= sizeof size && (memcpy(&size, bytes + at, sizeof size), size <= length - at)) {
      if (size < sizeof(struct volume_request) || !serve_request(bytes + at, size, &reply)) return;
      *held = serve_held_count();
      if (reply.header.len && !write_all((const uint8_t *)&reply, reply.header.len)) return;
      at += size;
    }
    if (length - at >= sizeof size && size > VOLUME_REQUEST_LIMIT) return;
    memmove(bytes, bytes + at, length - at);
    length -= at;
  }
}

static _Noreturn void serve(struct order *order, int stream, int told, int word, int ready) {
  pid_t command = getppid();
  if (order->base && !own_ids(told, word)) _exit(fail("ids"));
  volatile uint32_t *held = map_held(order->held);
  if (!held) _exit(fail("the count of held files"));
  if (!open_roots(order)) _exit(fail(order->directory));
  if (!keep_descriptors(order, stream, &ready) || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != command) _exit(1);
  signal(SIGPIPE, SIG_IGN);
  serve_roots(order->roots, order->count);
  if (!box_enter(order->directory)) _exit(1);
  // Only now: no machine begins whose files are served by a process that can reach more than them.
  if (write(ready, "", 1) != 1) _exit(1);
  close(ready);
  run(held);
  _exit(0);
}

int volumes_main(int argc, char **argv) {
  struct order order = {0};
  int pair[2], told[2], word[2], ready[2];
  char byte;
  uint8_t *bytes = NULL;
  if (!parse(argc, argv, &order)) return fprintf(stderr, "%s\n", USAGE), 2;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 || pipe2(told, O_CLOEXEC) != 0 || pipe2(word, O_CLOEXEC) != 0 || pipe2(ready, O_CLOEXEC) != 0) return fail("descriptors");
  int window = make_window(&bytes);
  if (window < 0) return fail("window");
  serve_window(bytes);
  pid_t child = fork();
  if (child < 0) return fail("fork");
  if (child == 0) serve(&order, pair[1], told[1], word[0], ready[1]);
  close(told[1]);
  close(ready[1]);
  if (order.base && !write_ids(child, order.base, told[0], word[1])) return fail("ids");
  // Nobody is to begin with volumes that are not there.
  if (read(ready[0], &byte, 1) != 1) return 1;
  if (dup2(pair[0], order.descriptor) < 0 || dup2(window, order.window) < 0) return fail("descriptors");
  close(order.held);
  execv(order.command[0], order.command);
  return fail(order.command[0]);
}
