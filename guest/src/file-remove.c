// Remove. A tree is removed by a worker, without ever following a symlink.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer.h"
#include "beneath.h"
#include "file-remove.h"
#include "job.h"
#include "requests.h"

#define RECURSIVE 1u
#define ABSENT_IS_FINE 2u
#define DEPTH_LIMIT 100000

// Removes what is in the directory. Directories that are not empty are entered one at a time, by descriptor; on the way
// back `..` is not trusted blindly: it must be the directory that we came from.
struct level {
  dev_t device;
  ino_t inode;
  char name[256];
};

static int remove_files(int directory, char subdirectory[256]) {
  subdirectory[0] = 0;
  int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = copy < 0 ? NULL : fdopendir(copy);
  if (!list) {
    int error = errno;
    if (copy >= 0) close(copy);
    return error;
  }
  int error = 0;
  for (struct dirent *item; !error && (item = readdir(list));) {
    if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
    if (unlinkat(directory, item->d_name, 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) error = errno;
    else if (unlinkat(directory, item->d_name, AT_REMOVEDIR) != 0 && errno != ENOENT) {
      if (errno != ENOTEMPTY && errno != EEXIST) error = errno == ENOTDIR ? EPERM : errno;
      else {
        snprintf(subdirectory, 256, "%s", item->d_name);
        break;
      }
    }
  }
  closedir(list);
  return error;
}

static int go_up(int *directory, const struct level *expected) {
  int parent = openat(*directory, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat status;
  if (parent < 0) return errno;
  if (fstat(parent, &status) != 0 || status.st_dev != expected->device || status.st_ino != expected->inode) {
    close(parent);
    return EAGAIN;
  }
  close(*directory);
  *directory = parent;
  return 0;
}

static int go_down(int *directory, const char *name, struct level *level) {
  struct stat status;
  int child = open_directory_at(*directory, name);
  if (child < 0 || fstat(*directory, &status) != 0) {
    int error = errno;
    if (child >= 0) close(child);
    return error;
  }
  *level = (struct level){.device = status.st_dev, .inode = status.st_ino};
  snprintf(level->name, sizeof level->name, "%s", name);
  close(*directory);
  *directory = child;
  return 0;
}

int remove_below(int directory) {
  struct level *levels = NULL;
  int depth = 0, capacity = 0, error = 0;
  while (!error) {
    char name[256];
    error = remove_files(directory, name);
    if (error) break;
    if (name[0]) {
      if (depth == capacity) {
        capacity = capacity ? capacity * 2 : 32;
        struct level *larger = depth < DEPTH_LIMIT ? realloc(levels, (size_t)capacity * sizeof *levels) : NULL;
        if (!larger) {
          error = ENOMEM;
          break;
        }
        levels = larger;
      }
      error = go_down(&directory, name, &levels[depth]);
      if (!error) depth++;
      if (error == ENOENT) error = 0;
      continue;
    }
    if (depth == 0) break;
    depth--;
    error = go_up(&directory, &levels[depth]);
    if (!error && unlinkat(directory, levels[depth].name, AT_REMOVEDIR) != 0 && errno != ENOENT && errno != ENOTEMPTY) error = errno;
  }
  free(levels);
  close(directory);
  return error;
}

static int remove_tree(const char *path) {
  int directory = open_directory_at(AT_FDCWD, path);
  if (directory < 0) return errno;
  int error = remove_below(directory);
  if (error) return error;
  return rmdir(path) == 0 ? 0 : errno;
}

static void work(void *context, int stream, struct worker_result *result) {
  (void)stream;
  struct job *job = context;
  result->error = remove_tree(job->path);
  if (result->error == ENOENT && job->flags & ABSENT_IS_FINE) result->error = 0;
  snprintf(result->what, sizeof result->what, "%s", job->path);
}

void serve_remove(uint32_t channel, const struct message_remove *message) {
  char path[PATH_BYTES] = "";
  int error = path_copy(message->path, path);
  if (error) return answer_failed(channel, error, "path");
  if (unlink(path) == 0) return answer_done(channel, 0);
  error = errno;
  if (error == EISDIR || error == EPERM) error = rmdir(path) == 0 ? 0 : errno == ENOTDIR ? error : errno;
  if (error == ENOENT && message->flags & ABSENT_IS_FINE) error = 0;
  if (!(message->flags & RECURSIVE) || (error != ENOTEMPTY && error != EEXIST)) return answer_result(channel, error, path);
  struct job *job = job_create(channel, message->path);
  if (!job) return;
  job->flags = message->flags;
  job_run(job, channel, work);
}
