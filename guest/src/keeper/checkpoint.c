#define _GNU_SOURCE
#include "checkpoint.h"
#include "../loop.h"
#include "connect-path.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

// What runsc's own `checkpoint -leave-running -compression=none` sends. Names that a kernel does not know are ignored by it, and it refuses what it cannot do.
#define CALL \
  "{\"method\":\"containerManager.Checkpoint\",\"arg\":{\"metadata\":{\"compression\":\"none\"}," \
  "\"MemoryFileSaveOpts\":{\"ExcludeCommittedZeroPages\":true},\"have_pages_file\":true,\"Resume\":true}}"
#define STATE_HEADER_MOST 4096
// From the kernel's fs.h, which musl's headers do not have.
#define GET_ATTRIBUTES _IOR('f', 1, long)
#define SET_ATTRIBUTES _IOW('f', 2, long)
#define NO_COPY_ON_WRITE 0x00800000
#define ANSWER_BYTES 4096
// Everything takes far less; a kernel that hangs must not hold this process.
#define PATIENCE_MILLISECONDS 120000

struct checkpoint {
  int kernel;
  int state;      // to read: what the kernel writes into its end of a pipe
  int state_file; // where it belongs
  int files[3];   // the kernel's: state, metadata of pages, pages
  char answer[ANSWER_BYTES];
};

static bool failed(const char *what) {
  printf("failed %s: %s\n", what, strerror(errno));
  return false;
}

static int make_file(int directory, const char *name) { return openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600); }

// Makes the file of pages one that the kernel writes past the page cache of btrfs, which costs four times as much: without checksums, and
// directly. What comes from the kernel of a sandbox is aligned for it.
static void write_directly(int pages) {
  int attributes;
  if (ioctl(pages, GET_ATTRIBUTES, &attributes) != 0) return;
  attributes |= NO_COPY_ON_WRITE;
  if (ioctl(pages, SET_ATTRIBUTES, &attributes) == 0) fcntl(pages, F_SETFL, O_DIRECT);
}

static bool open_files(struct checkpoint *checkpoint, const char *path, bool direct) {
  int ends[2];
  int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0 || pipe2(ends, O_CLOEXEC) != 0) return failed("directory");
  checkpoint->state = ends[0];
  // The smallest: a kernel that has more to say than its header stands still until somebody reads.
  if (fcntl(ends[1], F_SETPIPE_SZ, 4096) < 0) return failed("pipe");
  checkpoint->state_file = make_file(directory, "checkpoint.img");
  checkpoint->files[0] = ends[1];
  checkpoint->files[1] = make_file(directory, "pages_meta.img");
  checkpoint->files[2] = make_file(directory, "pages.img");
  close(directory);
  if (direct) write_directly(checkpoint->files[2]);
  return (checkpoint->state_file >= 0 && checkpoint->files[1] >= 0 && checkpoint->files[2] >= 0) || failed("files");
}

static bool send_call(struct checkpoint *checkpoint) {
  char control[CMSG_SPACE(sizeof checkpoint->files)] = {0};
  struct iovec text = {CALL, sizeof CALL - 1};
  struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof checkpoint->files);
  memcpy(CMSG_DATA(header), checkpoint->files, sizeof checkpoint->files);
  ssize_t sent = sendmsg(checkpoint->kernel, &message, 0);
  for (int i = 0; i < 3; i++) close(checkpoint->files[i]);
  return sent == (ssize_t)sizeof CALL - 1 || failed("call");
}

static bool await(int fd) {
  struct pollfd one = {fd, POLLIN, 0};
  int ready;
  do ready = poll(&one, 1, PATIENCE_MILLISECONDS);
  while (ready < 0 && errno == EINTR);
  if (ready == 0) errno = ETIMEDOUT;
  return ready > 0;
}

static bool keep(struct checkpoint *checkpoint, const char *bytes, ssize_t length) {
  for (ssize_t written = 0; written < length;) {
    ssize_t count = write(checkpoint->state_file, bytes + written, (size_t)(length - written));
    if (count < 0 && errno != EINTR) return failed("checkpoint.img");
    if (count > 0) written += count;
  }
  return true;
}

// Passes on the state until so much has come, or to its end. Sets *ended at the end.
static bool pass_state(struct checkpoint *checkpoint, long until, bool *ended) {
  char bytes[4096];
  long passed = 0;
  while (passed < until) {
    if (!await(checkpoint->state)) return failed("state");
    ssize_t count = read(checkpoint->state, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("state");
    *ended = count == 0;
    if (*ended) return true;
    if (!keep(checkpoint, bytes, count)) return false;
    passed += count;
  }
  return true;
}

// {"success":true,...} or {"success":false,"err":"...",...}. One object; it is whole when its brace has come.
static bool take_answer(struct checkpoint *checkpoint) {
  size_t length = 0;
  while (length < ANSWER_BYTES - 1) {
    if (!await(checkpoint->kernel)) return failed("answer");
    ssize_t count = read(checkpoint->kernel, checkpoint->answer + length, ANSWER_BYTES - 1 - length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return failed("answer");
    length += (size_t)count;
    checkpoint->answer[length] = 0;
    if (checkpoint->answer[length - 1] == '}' || checkpoint->answer[length - 1] == '\n') break;
  }
  if (strstr(checkpoint->answer, "\"success\":true")) return true;
  for (char *at = checkpoint->answer; *at; at++)
    if ((unsigned char)*at < ' ') *at = ' ';
  printf("failed %s\n", checkpoint->answer);
  return false;
}

static bool await_word(void) {
  char word;
  printf("standing\n");
  if (fflush(stdout) == 0 && await(0) && read(0, &word, 1) == 1) return true;
  errno = ECANCELED;
  return failed("engine");
}

static bool take(struct checkpoint *checkpoint, char **argv) {
  bool ended = false;
  checkpoint->kernel = connect_to_path(argv[1]);
  if (checkpoint->kernel < 0) return failed("control socket");
  if (!open_files(checkpoint, argv[2], argv[3] != NULL)) return false;
  uint64_t start = monotonic_now();
  if (!send_call(checkpoint)) return false;
  // Beyond its header the state is written with every task stopped and every file written back.
  if (!pass_state(checkpoint, STATE_HEADER_MOST, &ended)) return false;
  // An end this early is a refusal, which the answer explains.
  if (!ended && (!await_word() || !pass_state(checkpoint, __LONG_MAX__, &ended))) return false;
  if (!take_answer(checkpoint)) return false;
  printf("done %llu\n", (unsigned long long)(monotonic_now() - start) / 1000);
  return true;
}

int checkpoint_main(int argc, char **argv) {
  static struct checkpoint checkpoint;
  if (argc != 3 && (argc != 4 || strcmp(argv[3], "direct") != 0)) return 2;
  signal(SIGPIPE, SIG_IGN);
  bool taken = take(&checkpoint, argv);
  return fflush(stdout) == 0 && taken ? 0 : 1;
}
