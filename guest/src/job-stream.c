// Jobs with a stream of bytes: archives out and in.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "answer.h"
#include "job.h"
#include "messages.gen.h"

static struct job *of(struct channel *channel) { return OWNER(channel, struct job, channel); }

static void start(struct job *job, uint32_t channel, const struct channel_kind *kind, job_work *work, bool worker_writes) {
  int pair[2];
  if (!channel_open(&job->channel, channel, kind)) return;
  int error = pipe2(pair, O_CLOEXEC) == 0 ? 0 : errno;
  if (!error) {
    job->stream.fd = pair[worker_writes ? 0 : 1];
    fcntl(job->stream.fd, F_SETFL, O_NONBLOCK);
    // Fewer and larger reads; where it is refused the usual size will do.
    fcntl(job->stream.fd, F_SETPIPE_SZ, 262144);
    error = worker_start(&job->worker, work, job, pair[worker_writes ? 1 : 0]);
    close(pair[worker_writes ? 1 : 0]);
  }
  if (!error) return;
  answer_failed(channel, error, "cannot start a worker");
  channel_end(&job->channel);
}

// --- the worker writes

static void reader_stream_ready(struct source *source, uint32_t events) {
  (void)events;
  source_watch(source, 0);
  channel_ready(&OWNER(source, struct job, stream)->channel);
}

static enum produced finish_reading(struct job *job, struct buffer *out) {
  if (!job->finished) return PRODUCED_NOTHING;
  if (job->result.error) write_failed(out, job->channel.id, job->result.error, job->result.what);
  else encode_done(out, job->channel.id, &(struct message_done){job->total});
  return PRODUCED_END;
}

static enum produced reader_produce(struct channel *channel, struct buffer *out) {
  struct job *job = of(channel);
  if (job->stream.fd < 0) return finish_reading(job, out);
  uint32_t wanted = channel_turn_bytes(channel);
  if (wanted == 0) return PRODUCED_NOTHING;
  size_t frame = wire_begin(out, MESSAGE_DATA, channel->id);
  if (!buffer_reserve(out, wanted)) return PRODUCED_NOTHING;
  ssize_t count = read(job->stream.fd, out->bytes + out->length, wanted);
  if (count > 0) {
    out->length += (size_t)count;
    wire_end(out, frame);
    job->total += (uint64_t)count;
    channel->send_credit -= (uint64_t)count;
    return PRODUCED_MORE;
  }
  out->length = frame;
  if (count < 0 && errno == EINTR) return PRODUCED_MORE;
  if (count < 0 && errno == EAGAIN) {
    source_watch(&job->stream, EPOLLIN);
    return PRODUCED_NOTHING;
  }
  source_close(&job->stream);
  return finish_reading(job, out);
}

static void reader_finished(struct worker *worker, const struct worker_result *result) {
  struct job *job = OWNER(worker, struct job, worker);
  job->finished = true;
  job->result = *result;
  job->result.what[sizeof result->what - 1] = 0;
  channel_ready(&job->channel);
}

void job_run_reader(struct job *job, uint32_t channel, job_work *work) {
  static const struct channel_kind kind = {.produce = reader_produce, .destroy = job_destroy};
  job->worker.finished = reader_finished;
  job->stream.ready = reader_stream_ready;
  start(job, channel, &kind, work, true);
  struct channel *opened = channel_find(channel);
  if (opened) source_watch(&of(opened)->stream, EPOLLIN);
}

// --- the worker reads

// Passes on what the worker takes; the rest waits, within the credit that the host has.
static void pass(struct job *job) {
  size_t rest = job->pending.length - job->passed;
  while (rest && job->stream.fd >= 0) {
    ssize_t count = write(job->stream.fd, job->pending.bytes + job->passed, rest);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      source_watch(&job->stream, EPOLLOUT);
      return;
    }
    // The worker has closed its end: it says why in its result.
    if (count < 0) return source_close(&job->stream);
    job->passed += (size_t)count;
    rest -= (size_t)count;
    channel_grant(&job->channel, (uint32_t)count);
  }
  job->pending.length = job->passed = 0;
  source_watch(&job->stream, 0);
  if (job->ending) source_close(&job->stream);
}

static void writer_stream_ready(struct source *source, uint32_t events) {
  (void)events;
  pass(OWNER(source, struct job, stream));
}

static void writer_data(struct channel *channel, struct slice bytes) {
  struct job *job = of(channel);
  if (job->stream.fd < 0) return channel_grant(channel, bytes.length);
  buffer_append(&job->pending, bytes.bytes, bytes.length);
  if (!job->pending.failed) return pass(job);
  answer_failed(channel->id, ENOMEM, "archive");
  channel_end(channel);
}

static void writer_eof(struct channel *channel) {
  struct job *job = of(channel);
  job->ending = true;
  pass(job);
}

static void writer_finished(struct worker *worker, const struct worker_result *result) {
  struct job *job = OWNER(worker, struct job, worker);
  uint32_t id = job->channel.id;
  if (result->error) answer_failed(id, result->error, "%.*s", (int)sizeof result->what, result->what);
  else answer_done(id, result->value);
  channel_end(&job->channel);
}

void job_run_writer(struct job *job, uint32_t channel, job_work *work) {
  static const struct channel_kind kind = {.data = writer_data, .eof = writer_eof, .destroy = job_destroy};
  job->worker.finished = writer_finished;
  job->stream.ready = writer_stream_ready;
  start(job, channel, &kind, work, false);
  struct channel *opened = channel_find(channel);
  if (opened) channel_grant(opened, RECEIVE_WINDOW);
}
