#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Bytes on their way to one descriptor.
struct flow {
  uint8_t bytes[STREAM_BUFFER_BYTES];
  size_t start, end;
};

struct copier {
  int container;
  bool input_open;
  struct flow inward;   // to the container
  struct flow outward;  // to the link, framing taken off
  struct flow framed;   // from the container, framing still on
  struct unframer unframer;
};

static bool is_empty(const struct flow *flow) { return flow->start == flow->end; }

// Reads when there is room. 1: something or nothing yet, 0: the end, -1: failure.
static int fill(struct flow *flow, int fd) {
  if (!is_empty(flow)) return 1;
  ssize_t got = read(fd, flow->bytes, sizeof flow->bytes);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? 1 : -1;
  flow->start = 0;
  flow->end = (size_t)got;
  return got > 0;
}

static bool drain(struct flow *flow, int fd) {
  while (!is_empty(flow)) {
    ssize_t sent = write(fd, flow->bytes + flow->start, flow->end - flow->start);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    flow->start += (size_t)sent;
  }
  return true;
}

// The log is a file or a pipe that the keeper bounds; what it does not take is not worth waiting for.
static void log_errors(const struct unframed *piece) {
  ssize_t written = write(STDERR_FILENO, piece->bytes, piece->length);
  (void)written;
}

// Moves one piece from the framed bytes to the link. False when the framing is broken.
static bool advance(struct copier *copier) {
  while (is_empty(&copier->outward) && !is_empty(&copier->framed)) {
    const uint8_t *input = copier->framed.bytes + copier->framed.start;
    size_t length = copier->framed.end - copier->framed.start;
    struct unframed piece;
    if (!unframe(&copier->unframer, &input, &length, &piece)) return false;
    copier->framed.start = copier->framed.end - length;
    if (piece.stream == 2) log_errors(&piece);
    if (piece.stream != 1) continue;
    memcpy(copier->outward.bytes, piece.bytes, piece.length);
    copier->outward.start = 0;
    copier->outward.end = piece.length;
  }
  return true;
}

static bool push(struct copier *copier) {
  do {
    if (!advance(copier)) {
      fprintf(stderr, "the container engine broke the framing of its streams\n");
      return false;
    }
    if (!drain(&copier->outward, STDOUT_FILENO)) return false;
  } while (is_empty(&copier->outward) && !is_empty(&copier->framed));
  return drain(&copier->inward, copier->container);
}

static bool wait_for_work(const struct copier *copier) {
  bool outward_waits = !is_empty(&copier->outward);
  short wanted = (short)((outward_waits ? 0 : POLLIN) | (is_empty(&copier->inward) ? 0 : POLLOUT));
  struct pollfd items[3] = {
      {copier->input_open && is_empty(&copier->inward) ? STDIN_FILENO : -1, POLLIN, 0},
      {outward_waits ? STDOUT_FILENO : -1, POLLOUT, 0},
      // Not polled for nothing: a closed one would be reported again and again.
      {wanted == 0 ? -1 : copier->container, wanted, 0},
  };
  return poll(items, 3, -1) >= 0 || errno == EINTR;
}

int streams_copy(int container) {
  static struct copier copier;
  copier.container = container;
  copier.input_open = true;
  for (int i = 0; i < 3; i++) {
    int fd = (int[]){STDIN_FILENO, STDOUT_FILENO, container}[i];
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) return 1;
  }
  for (;;) {
    if (!wait_for_work(&copier)) return 1;
    if (copier.input_open && fill(&copier.inward, STDIN_FILENO) <= 0) {
      // The container's guest ends when its input does.
      copier.input_open = false;
      shutdown(container, SHUT_WR);
    }
    int more = is_empty(&copier.outward) ? fill(&copier.framed, container) : 1;
    if (!push(&copier)) return 1;
    if (more <= 0 && is_empty(&copier.outward) && is_empty(&copier.framed)) return more < 0;
  }
}
