#define _GNU_SOURCE
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "children.h"
#include "descriptors.h"

#define STREAM_DESCRIPTOR 0
#define RESULT_DESCRIPTOR 1

int worker_kept[WORKER_KEPT] = {-1, -1};

// Children that were forked and not yet reaped, also those whose request is gone.
static pid_t alive[WORKER_LIMIT];

static int free_slot(void) {
  for (int i = 0; i < WORKER_LIMIT; i++) {
    if (alive[i] == 0) return i;
  }
  return -1;
}

bool worker_is(pid_t pid) {
  for (int i = 0; i < WORKER_LIMIT; i++) {
    if (alive[i] == pid) return true;
  }
  return false;
}

void worker_ended(pid_t pid) {
  for (int i = 0; i < WORKER_LIMIT; i++) {
    if (alive[i] == pid) alive[i] = 0;
  }
}

// What the worker inherits gets the numbers from 3 on; returns the first number that is not used.
static int keep_descriptors(void) {
  int moved[WORKER_KEPT], next = WORKER_FIRST_KEPT;
  for (int i = 0; i < WORKER_KEPT; i++) moved[i] = worker_kept[i] < 0 ? -1 : fcntl(worker_kept[i], F_DUPFD, 16);
  for (int i = 0; i < WORKER_KEPT; i++) {
    if (moved[i] >= 0) dup2(moved[i], next++);
  }
  return next;
}

static _Noreturn void run(void (*work)(void *, int, struct worker_result *), void *context, int stream, int result_descriptor) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Out of the way of the low numbers first, so that neither overwrites the other.
  int kept_stream = stream < 0 ? -1 : fcntl(stream, F_DUPFD, 16);
  int kept_result = fcntl(result_descriptor, F_DUPFD, 16);
  if (kept_stream >= 0) dup2(kept_stream, STREAM_DESCRIPTOR);
  else close(STREAM_DESCRIPTOR);
  dup2(kept_result, RESULT_DESCRIPTOR);
  close_from(keep_descriptors());
  // SIGPIPE stays blocked: a reader that went away is an error code, and SIGKILL ends us anyhow.
  struct worker_result result = {0};
  work(context, stream < 0 ? -1 : STREAM_DESCRIPTOR, &result);
  ssize_t ignored = write(RESULT_DESCRIPTOR, &result, sizeof result);
  (void)ignored;
  _exit(0);
}

static void result_ready(struct source *source, uint32_t events) {
  (void)events;
  struct worker *worker = OWNER(source, struct worker, result);
  struct worker_result result;
  ssize_t count = read(source->fd, &result, sizeof result);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  source_close(source);
  // A worker that ended without a word was killed, most likely for memory.
  if (count != sizeof result) result = (struct worker_result){.error = ENOMEM, .what = "the worker was killed"};
  worker->finished(worker, &result);
}

int worker_start(struct worker *worker, void (*work)(void *, int, struct worker_result *), void *context, int stream) {
  int pair[2];
  int slot = free_slot();
  worker->result = (struct source){.fd = -1, .ready = result_ready};
  if (slot < 0) return EAGAIN;
  if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) != 0) return errno;
  pid_t pid = fork();
  if (pid == 0) run(work, context, stream, pair[1]);
  int error = errno;
  close(pair[1]);
  if (pid < 0) {
    close(pair[0]);
    return error;
  }
  alive[slot] = worker->pid = pid;
  worker->result.fd = pair[0];
  source_watch(&worker->result, EPOLLIN);
  return 0;
}

void worker_stop(struct worker *worker) {
  if (worker->pid > 0 && worker_is(worker->pid)) kill(worker->pid, SIGKILL);
  source_close(&worker->result);
}
