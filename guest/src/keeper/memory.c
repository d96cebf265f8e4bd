#define _GNU_SOURCE
#include "memory.h"
#include "clone-file.h"
#include "descendants.h"
#include "numbers.h"
#include "touched-pages.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

// Copied at once, and so the longest run: one call takes as many runs as fit.
#define BATCH_BYTES (1u << 20)
#define BATCH_RUNS 256
// While the machine stands still its pages go here, which is faster than a file; what does not fit is written at once.
#define BUFFER_BYTES (UINT64_C(256) << 20)
#define BUFFER_ROOM (UINT64_C(8) << 20)

struct capture {
  int pid;
  int base;   // the file that the machine's memory was mapped from, also when it has no name any more
  int target; // its copy, in which the touched pages are replaced
  struct page_runs mappings, touched;
  char *buffer;
  uint64_t buffer_bytes;
};

static bool is_base(int pid, uint64_t number, uint64_t bytes, struct capture *capture, struct failure *failure) {
  char path[64];
  struct stat status;
  snprintf(path, sizeof path, "/proc/%d/fd/%llu", pid, (unsigned long long)number);
  // SAFETY: what is behind the number is the process's choice: it may be a pipe or a device, on which nothing here may wait.
  int base = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (base < 0) return false;
  capture->mappings.count = 0;
  if (fstat(base, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size == bytes &&
      mapping_find(pid, status.st_ino, bytes, &capture->mappings, failure)) {
    capture->pid = pid;
    capture->base = base;
    return true;
  }
  close(base);
  return false;
}

// The machine is the one descendant of the keeper that has its memory from the descriptor of that number.
static bool find_machine(uint64_t keeper, uint64_t number, uint64_t bytes, struct capture *capture, struct failure *failure) {
  struct process_list all = {0};
  if (!descendants_list_of((int)keeper, &all)) return fail_with(failure, ENOMEM, "memory: processes");
  bool found = false;
  for (size_t i = 0; !found && i < all.count; i++) found = is_base(all.pids[i], number, bytes, capture, failure);
  free(all.pids);
  return found || fail_with(failure, ESRCH, "memory: process %llu keeps no machine whose memory is known", (unsigned long long)keeper);
}

static bool make_buffer(struct capture *capture) {
  uint64_t bytes = capture->touched.bytes + capture->touched.bytes / 4 + BUFFER_ROOM;
  capture->buffer_bytes = bytes < BUFFER_BYTES ? bytes : BUFFER_BYTES;
  capture->buffer = mmap(NULL, capture->buffer_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (capture->buffer == MAP_FAILED) return false;
  madvise(capture->buffer, capture->buffer_bytes, MADV_HUGEPAGE);
  // Touched now, so that the kernel does not look for memory while the machine waits.
  memset(capture->buffer, 1, capture->buffer_bytes);
  return true;
}

// Runs from `first` on that fit into one call; their number.
static size_t gather(const struct page_runs *runs, size_t first, uint64_t room, struct iovec *parts, uint64_t *bytes) {
  size_t count = 0;
  *bytes = 0;
  while (first + count < runs->count && count < BATCH_RUNS) {
    const struct page_run *run = &runs->items[first + count];
    if (*bytes + run->length > room) break;
    parts[count++] = (struct iovec){(void *)(uintptr_t)run->address, run->length};
    *bytes += run->length;
  }
  return count;
}

static bool read_pages(int pid, char *into, const struct iovec *parts, size_t count, uint64_t bytes, struct failure *failure) {
  ssize_t taken = process_vm_readv(pid, &(struct iovec){into, bytes}, 1, parts, count, 0);
  return taken == (ssize_t)bytes || fail_with(failure, taken < 0 ? errno : EIO, "memory: pages of process %d", pid);
}

static bool write_pages(int target, const char *bytes, const struct page_run *runs, size_t count, struct failure *failure) {
  for (size_t i = 0; i < count; bytes += runs[i].length, i++)
    for (uint64_t done = 0; done < runs[i].length;) {
      ssize_t written = pwrite(target, bytes + done, runs[i].length - done, (off_t)(runs[i].offset + done));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return fail_with(failure, written < 0 ? errno : ENOSPC, "memory: write");
      done += (uint64_t)written;
    }
  return true;
}

// Fills the buffer and returns how many runs are in it, or -1.
static ssize_t fill_buffer(struct capture *capture, struct failure *failure) {
  struct iovec parts[BATCH_RUNS];
  uint64_t used = 0, bytes;
  size_t next = 0, count;
  while ((count = gather(&capture->touched, next, capture->buffer_bytes - used, parts, &bytes)) > 0) {
    if (!read_pages(capture->pid, capture->buffer + used, parts, count, bytes, failure)) return -1;
    used += bytes;
    next += count;
  }
  return (ssize_t)next;
}

static bool write_rest(struct capture *capture, size_t next, struct failure *failure) {
  static char batch[BATCH_BYTES];
  struct iovec parts[BATCH_RUNS];
  uint64_t bytes;
  for (size_t count; (count = gather(&capture->touched, next, sizeof batch, parts, &bytes)) > 0; next += count)
    if (!read_pages(capture->pid, batch, parts, count, bytes, failure) ||
        !write_pages(capture->target, batch, capture->touched.items + next, count, failure))
      return false;
  return true;
}

static bool say(const char *word, uint64_t bytes) {
  char text[64];
  int length = snprintf(text, sizeof text, "%s %llu\n", word, (unsigned long long)bytes);
  return write(STDOUT_FILENO, text, (size_t)length) == length;
}

// One byte from the engine: the machine stands still. The end of it: nobody wants the copy any more.
static bool await_stop(void) {
  char byte;
  ssize_t count;
  while ((count = read(STDIN_FILENO, &byte, 1)) < 0 && errno == EINTR) continue;
  return count == 1;
}

// What the machine has read of its memory its copies will read first, and in a new file all of it has yet to come from the disk.
static void read_ahead(const struct capture *capture) {
  struct page_runs read = {0};
  struct failure ignored = {0};
  if (pages_list(capture->pid, &capture->mappings, PAGES_READ, BATCH_BYTES, &read, &ignored))
    for (size_t i = 0; i < read.count; i++)
      posix_fadvise(capture->target, (off_t)read.items[i].offset, (off_t)read.items[i].length, POSIX_FADV_WILLNEED);
  free(read.items);
}

static bool copy_machine(struct capture *capture, const char *target, struct failure *failure) {
  if (!clone_descriptor(capture->base, capture->target, target, failure)) return false;
  read_ahead(capture);
  if (!pages_list(capture->pid, &capture->mappings, PAGES_TOUCHED, BATCH_BYTES, &capture->touched, failure)) return false;
  if (!make_buffer(capture)) return fail_with(failure, ENOMEM, "memory: buffer");
  if (!say("ready", capture->touched.bytes) || !await_stop()) return fail_with(failure, ECANCELED, "memory: nobody waits for it");
  if (!pages_list(capture->pid, &capture->mappings, PAGES_TOUCHED, BATCH_BYTES, &capture->touched, failure)) return false;
  ssize_t buffered = fill_buffer(capture, failure);
  if (buffered < 0 || !write_rest(capture, (size_t)buffered, failure)) return false;
  // From here on the machine may go on.
  say("copied", capture->touched.bytes);
  return write_pages(capture->target, capture->buffer, capture->touched.items, (size_t)buffered, failure) && say("written", capture->touched.bytes);
}

static bool flush(const char *path, struct failure *failure) {
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return fail_with(failure, errno, "memory: %s", path);
  bool flushed = fdatasync(file) == 0 || fail_with(failure, errno, "memory: flush %s", path);
  close(file);
  return flushed;
}

// argv: "memory", pid of the keeper, number of the descriptor, size, target, and a file to flush before.
int memory_main(int argc, char **argv) {
  struct failure failure = {0};
  struct capture capture = {.target = -1};
  uint64_t keeper, number, bytes;
  if (argc != 6 || !parse_number(argv[1], 10, INT32_MAX, &keeper) || !parse_number(argv[2], 10, INT32_MAX, &number) ||
      !parse_number(argv[3], 10, INT64_MAX, &bytes)) {
    fprintf(stderr, "memory KEEPER DESCRIPTOR BYTES TARGET DISK\n");
    return 2;
  }
  bool done = find_machine(keeper, number, bytes, &capture, &failure) && flush(argv[5], &failure);
  if (done) {
    // For reading by the users of the machines that go on from it, through a descriptor: the directory is closed to them.
    capture.target = open(argv[4], O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
    done = capture.target >= 0 ? copy_machine(&capture, argv[4], &failure) : fail_with(&failure, errno, "memory: %s", argv[4]);
    if (!done && capture.target >= 0) unlink(argv[4]);
  }
  free(capture.mappings.items);
  free(capture.touched.items);
  if (!done) fprintf(stderr, "%d %s: %s\n", failure.number, failure.what, strerror(failure.number));
  return done ? 0 : 1;
}
