// A supervisor is a process that shares the guest's memory: copying the tables of pages, and the faults that follow, would cost more than
// all else that the guest does for a command.
#define _GNU_SOURCE
#include "supervision.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loop.h"
#include "raw-calls.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
// Who leaves by exec or exit does not clean the stack of the sanitizer's marks.
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)0)
#endif

#define GUARD_BYTES 65536u  // the largest page there is
#define STACK_BYTES 32768u
#define SPARE_LIMIT 4
#define ROUND_UP(value, unit) (((value) + (unit) - 1) / (unit) * (unit))
#define HEAD_BYTES ROUND_UP(sizeof(struct supervision), 64)
#define MAPPING_BYTES(memory) (GUARD_BYTES + 2 * STACK_BYTES + ROUND_UP(HEAD_BYTES + (memory), GUARD_BYTES))

// One mapping: the guard, the stack of the new process, the stack of the supervisor, struct supervision, the memory.
static struct supervision *spares;
static uint32_t spare_count;
static struct source news = {.fd = -1};
static void (*on_report)(void);
static pid_t guest;

static char *stacks_of(struct supervision *supervision) { return (char *)supervision - 2 * STACK_BYTES; }

void *supervision_child_stack(struct supervision *supervision) { return stacks_of(supervision) + STACK_BYTES; }

void *supervision_memory(struct supervision *supervision) { return (char *)supervision + HEAD_BYTES; }

static void news_ready(struct source *source, uint32_t events) {
  (void)events;
  uint64_t count;
  ssize_t ignored = read(source->fd, &count, sizeof count);
  (void)ignored;
  on_report();
}

bool supervision_open(void (*reported)(void)) {
  on_report = reported;
  guest = getpid();
  news = (struct source){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .ready = news_ready};
  return news.fd >= 0 && source_watch(&news, EPOLLIN);
}

static void unmap(struct supervision *supervision) {
  // The marks would outlive the memory, and whoever gets this place next would seem to write beyond a stack.
  ASAN_UNPOISON_MEMORY_REGION(stacks_of(supervision), 2 * STACK_BYTES);
  munmap(stacks_of(supervision) - GUARD_BYTES, supervision->mapped);
}

void supervision_close(void) {
  while (spares) {
    struct supervision *spare = spares;
    spares = spare->next_spare;
    unmap(spare);
  }
  spare_count = 0;
  source_close(&news);
}

static struct supervision *map(size_t size) {
  char *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return NULL;
  mprotect(start, GUARD_BYTES, PROT_NONE);
  return (struct supervision *)(start + GUARD_BYTES + 2 * STACK_BYTES);
}

static struct supervision *take_spare(void) {
  struct supervision *spare = spares;
  spares = spare->next_spare;
  spare_count--;
  ASAN_UNPOISON_MEMORY_REGION(stacks_of(spare), 2 * STACK_BYTES);
  return spare;
}

struct supervision *supervision_create(size_t memory) {
  size_t mapped = MAPPING_BYTES(memory);
  struct supervision *supervision = mapped == MAPPING_BYTES(0) && spares ? take_spare() : map(mapped);
  if (!supervision) return NULL;
  *supervision = (struct supervision){
      .launch = {.input = -1, .output = -1, .error = -1},
      .guest = guest,
      .news = news.fd,
      .progress = PROGRESS_LEFT,
      .mapped = mapped,
  };
  return supervision;
}

pid_t supervision_start(struct supervision *supervision) {
  // SAFETY: all that the two processes touch lies in this mapping, which stays until the supervisor was reaped; they call nothing of the C
  // library that has a state. The guest has no handler that could run in them, and SIGCHLD is blocked until the loop reads it.
  atomic_store_explicit(&supervision->progress, PROGRESS_NONE, memory_order_relaxed);
  pid_t pid = (pid_t)raw_clone(CLONE_VM | CLONE_FILES | SIGCHLD, supervision, supervisor_run, supervision);
  if (pid < 0) atomic_store_explicit(&supervision->progress, PROGRESS_LEFT, memory_order_relaxed);
  return pid;
}

void supervision_release(struct supervision *supervision) {
  // SAFETY: a supervisor that was killed early may have left a process in this memory that has not executed yet. It is never used again.
  if (supervision_progress(supervision) == PROGRESS_NONE) return;
  if (spare_count == SPARE_LIMIT || supervision->mapped != MAPPING_BYTES(0)) {
    unmap(supervision);
    return;
  }
  supervision->next_spare = spares;
  spares = supervision;
  spare_count++;
}
