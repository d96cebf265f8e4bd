// Statistics, as they look from inside. Counted by a worker: /proc may be long.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "answer.h"
#include "configure.h"
#include "job.h"
#include "link.h"
#include "loop.h"
#include "process.h"
#include "requests.h"
#include "statistics.h"

static uint64_t started_at;

void statistics_open(void) { started_at = monotonic_now(); }

static bool read_line(const char *process, const char *file, char *text, size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%.20s/%s", process, file);
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  ssize_t length = read(descriptor, text, size - 1);
  close(descriptor);
  if (length <= 0) return false;
  text[length] = 0;
  return true;
}

// PF_KTHREAD: a thread of the kernel itself. They come and go as the kernel of a machine likes.
#define KERNEL_THREAD 0x00200000u

// Time of the process and of those it has reaped: over all processes that counts everybody once.
static uint64_t ticks_of(const char *process, bool *kernel) {
  char text[1024];
  unsigned int flags;
  unsigned long user, system;
  long child_user, child_system;
  *kernel = false;
  if (!read_line(process, "stat", text, sizeof text)) return 0;
  char *end = strrchr(text, ')');
  if (!end || sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %lu %lu %ld %ld", &flags, &user, &system, &child_user, &child_system) != 5) return 0;
  *kernel = (flags & KERNEL_THREAD) != 0;
  return user + system + (uint64_t)child_user + (uint64_t)child_system;
}

static uint64_t memory_of(const char *process) {
  char text[256];
  unsigned long size, resident, shared;
  if (!read_line(process, "statm", text, sizeof text) || sscanf(text, "%lu %lu %lu", &size, &resident, &shared) != 3) return 0;
  return (uint64_t)(resident > shared ? resident - shared : 0) * (uint64_t)sysconf(_SC_PAGESIZE);
}

// The guest itself, its supervisors and the one who counts.
static uint32_t helpers(bool worker) {
  uint32_t count = worker ? 2 : 1;
  for (struct process *process = process_first(); process; process = process->next) count += !process->supervisor_gone;
  return count;
}

static void collect(struct message_usage *usage, bool worker) {
  uint64_t ticks = 0;
  DIR *list = opendir("/proc");
  for (struct dirent *item; list && (item = readdir(list));) {
    if (item->d_name[0] < '1' || item->d_name[0] > '9') continue;
    bool kernel;
    ticks += ticks_of(item->d_name, &kernel);
    // Another worker may have answered and not yet ended.
    if (kernel || worker_is((pid_t)atoi(item->d_name))) continue;
    // Supervisors share the guest's memory.
    if (!process_find_supervisor((pid_t)atoi(item->d_name))) usage->memory_bytes += memory_of(item->d_name);
    usage->processes++;
  }
  if (list) closedir(list);
  uint32_t own = helpers(worker);
  usage->processes -= own < usage->processes ? own : usage->processes;
  usage->cpu_microseconds = ticks * 1000000u / (uint64_t)sysconf(_SC_CLK_TCK);
  struct statvfs disk;
  if (statvfs(configuration.workdir, &disk) == 0 || statvfs("/", &disk) == 0) {
    usage->disk_total_bytes = (uint64_t)disk.f_blocks * disk.f_frsize;
    usage->disk_used_bytes = (uint64_t)(disk.f_blocks - disk.f_bfree) * disk.f_frsize;
  }
  usage->uptime_milliseconds = (monotonic_now() - started_at) / MILLISECOND;
}

_Static_assert(sizeof(struct message_usage) <= WORKER_PAYLOAD, "the result carries it");

static void work(void *context, int stream, struct worker_result *result) {
  (void)context, (void)stream;
  struct message_usage usage = {0};
  collect(&usage, true);
  memcpy(result->what, &usage, sizeof usage);
}

static void finished(struct worker *worker, const struct worker_result *result) {
  struct job *job = OWNER(worker, struct job, worker);
  struct message_usage usage;
  memcpy(&usage, result->what, sizeof usage);
  if (result->error) answer_failed(job->channel.id, result->error, "statistics");
  else encode_usage(link_output(), job->channel.id, &usage);
  channel_end(&job->channel);
}

void serve_statistics(uint32_t channel) {
  static const struct channel_kind kind = {.destroy = job_destroy};
  struct job *job = job_create(channel, slice_of("/proc"));
  if (!job || !channel_open(&job->channel, channel, &kind)) return;
  job->worker.finished = finished;
  if (worker_start(&job->worker, work, job, -1) == 0) return;
  // No process to be had: that is when statistics are wanted most.
  struct message_usage usage = {0};
  collect(&usage, false);
  encode_usage(link_output(), channel, &usage);
  channel_end(&job->channel);
}
