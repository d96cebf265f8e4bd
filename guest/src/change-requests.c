// ListChanges and ApplyChanges.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "answer.h"
#include "changes/apply.h"
#include "changes/chosen.h"
#include "changes/walk.h"
#include "job.h"
#include "machine/mounts.h"
#include "requests.h"

#define CHOSEN_ONLY 1u
#define WITH_CONTENT 2u
#define WHOLE 4u

// What the worker is to do: it is forked while this is set.
static const struct message_list_changes *asked;

static void list(void *context, int stream, struct worker_result *result) {
  (void)context;
  static struct buffered_output writer;
  static struct walk walk;
  static struct selection chosen;
  writer.output = stream;
  walk = (struct walk){
      .entry_limit = asked->entries,
      .change_limit = asked->changes,
      .reading = {asked->compare_file_bytes, asked->compare_bytes},
      .with_content = asked->flags & WITH_CONTENT,
      .content_limit = asked->content_file_bytes,
      .content_left = asked->content_bytes,
      .writer = &writer,
  };
  // Compared with nothing, everything that is there is new.
  struct merged before = {asked->flags & WHOLE ? 0 : 1, {{WORKER_FIRST_KEPT + 1, 1}}};
  struct merged after = {2, {{WORKER_FIRST_KEPT, 0}, {WORKER_FIRST_KEPT + 1, 1}}};
  int error = chosen_parse(&chosen, (const char *)asked->paths.bytes, asked->paths.length);
  struct cursor cursor = asked->flags & CHOSEN_ONLY ? cursor_start(&chosen) : CURSOR_EVERYTHING;
  if (!error) error = walk_changes(&walk, &before, &after, cursor, CURSOR_EVERYTHING);
  // The stream itself says how it ended.
  result->error = record_end(&writer, (uint32_t)error, walk.path, walk.changes);
}

void serve_list_changes(uint32_t channel, const struct message_list_changes *message) {
  if (mounts_layer(0) < 0 || mounts_layer(1) < 0) return answer_failed(channel, EOPNOTSUPP, "the changes are not here");
  struct job *job = job_create(channel, (struct slice){(const uint8_t *)"/", 1});
  if (!job) return;
  asked = message;
  for (int i = 0; i < WORKER_KEPT; i++) worker_kept[i] = mounts_layer(i);
  job_run_reader(job, channel, list);
  for (int i = 0; i < WORKER_KEPT; i++) worker_kept[i] = -1;
}

static void apply(void *context, int stream, struct worker_result *result) {
  struct job *job = context;
  int root = open(job->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  result->error = root < 0 ? errno : apply_changes(root, stream, &result->value, result->what, sizeof result->what);
  if (root < 0) snprintf(result->what, sizeof result->what, "%s", job->path);
}

void serve_apply_changes(uint32_t channel, const struct message_apply_changes *message) {
  struct job *job = job_create(channel, message->path);
  if (job) job_run_writer(job, channel, apply);
}
