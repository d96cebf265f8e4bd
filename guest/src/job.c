#include "job.h"

#include <errno.h>

#include "answer.h"

struct job *job_create(uint32_t channel, struct slice path) {
  struct job *job = calloc(1, sizeof *job);
  if (!job) {
    answer_failed(channel, ENOMEM, "worker");
    return NULL;
  }
  job->stream.fd = job->worker.result.fd = -1;
  int error = path_copy(path, job->path);
  if (!error) return job;
  answer_failed(channel, error, "%s", job->path);
  free(job);
  return NULL;
}

void job_destroy(struct channel *channel) {
  struct job *job = OWNER(channel, struct job, channel);
  worker_stop(&job->worker);
  source_close(&job->stream);
  free(job->pending.bytes);
  free(job);
}

static void finished(struct worker *worker, const struct worker_result *result) {
  struct job *job = OWNER(worker, struct job, worker);
  uint32_t id = job->channel.id;
  if (result->error) answer_failed(id, result->error, "%.*s", (int)sizeof result->what, result->what);
  else answer_done(id, result->value);
  channel_end(&job->channel);
}

void job_run(struct job *job, uint32_t channel, job_work *work) {
  static const struct channel_kind kind = {.destroy = job_destroy};
  if (!channel_open(&job->channel, channel, &kind)) return;
  job->worker.finished = finished;
  int error = worker_start(&job->worker, work, job, -1);
  if (error == 0) return;
  answer_failed(channel, error, "cannot start a worker");
  channel_end(&job->channel);
}
