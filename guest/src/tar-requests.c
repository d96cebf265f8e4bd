// CreateTar and ExtractTar.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "answer.h"
#include "job.h"
#include "requests.h"
#include "tar-create.h"
#include "tar-extract.h"

static void create(void *context, int stream, struct worker_result *result) {
  struct job *job = context;
  result->error = tar_create(job->path, stream, result->what, sizeof result->what);
}

static void extract(void *context, int stream, struct worker_result *result) {
  struct job *job = context;
  int directory = open(job->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) {
    result->error = errno;
    snprintf(result->what, sizeof result->what, "%s", job->path);
    return;
  }
  result->error = tar_extract(directory, stream, &job->user, &result->value, result->what, sizeof result->what);
}

void serve_create_tar(uint32_t channel, const struct message_create_tar *message) {
  struct job *job = job_create(channel, message->path);
  if (job) job_run_reader(job, channel, create);
}

void serve_extract_tar(uint32_t channel, const struct message_extract_tar *message) {
  struct job *job = job_create(channel, message->path);
  if (!job) return;
  int error = users_find(message->user, &job->user);
  if (!error) error = path_make_directories(job->path, 0755, &job->user);
  if (!error) return job_run_writer(job, channel, extract);
  answer_failed(channel, error == ENOENT ? EINVAL : error, "%s", job->path);
  free(job);
}
