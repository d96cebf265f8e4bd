// A request that a worker serves: its channel, the worker, and the stream between them.
#ifndef HEARTH_JOB_H
#define HEARTH_JOB_H
#include "channel.h"
#include "paths.h"
#include "worker.h"

struct job {
  struct channel channel;
  struct worker worker;
  struct source stream;  // bytes from or to the worker
  struct buffer pending; // bytes that the worker has not taken yet
  size_t passed;
  uint64_t total;
  bool ending, finished;
  struct worker_result result;
  char path[PATH_BYTES];
  struct user user;
  uint32_t flags;
};

typedef void job_work(void *job, int stream, struct worker_result *result);

// A job for a path; NULL when Failed was sent.
struct job *job_create(uint32_t channel, struct slice path);
void job_destroy(struct channel *channel);

// Without a stream: answers Done or Failed when the worker is through.
void job_run(struct job *job, uint32_t channel, job_work *work);
// The worker writes; its bytes become Data.
void job_run_reader(struct job *job, uint32_t channel, job_work *work);
// The worker reads what the host sends.
void job_run_writer(struct job *job, uint32_t channel, job_work *work);
#endif
