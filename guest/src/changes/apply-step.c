#define _GNU_SOURCE
#include "changes/apply-step.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "beneath.h"
#include "changes/record.h"
#include "file-remove.h"

static int stage_of(const struct staging *staging, const struct step *step) { return staging->stages[step->stage].directory; }

static int find(const struct staging *staging, const struct step *step, int *parent, char name[256]) {
  int error = beneath_parent(staging->root, step->operation.path, NULL, parent, name);
  if (!error && name[0] == 0) {
    close(*parent);
    error = EINVAL;
  }
  return error;
}

// What is at a place now; a mode of 0 stands for nothing.
static int look(int parent, const char *name, struct stat *status) {
  if (fstatat(parent, name, status, AT_SYMLINK_NOFOLLOW) == 0) return 0;
  *status = (struct stat){0};
  return errno == ENOENT ? 0 : errno;
}

int step_check(const struct staging *staging, struct step *step) {
  const struct operation *operation = &step->operation;
  int parent;
  char name[256];
  int error = find(staging, step, &parent, name);
  // Its directory comes into being with the merge, or is gone.
  if (error == ENOENT || error == ENOTDIR || error == ELOOP) return operation->expected_type == TYPE_ABSENT ? 0 : ESTALE;
  if (error) return error;
  error = look(parent, name, &step->before);
  close(parent);
  if (error) return error;
  uint8_t type = step->before.st_mode ? file_type_number(step->before.st_mode) : TYPE_ABSENT;
  if (type != operation->expected_type) return ESTALE;
  int64_t modified = modified_nanoseconds(&step->before);
  bool same = (uint64_t)step->before.st_size == operation->expected_size &&
              (modified == operation->expected_modified[0] || modified == operation->expected_modified[1]);
  return type == TYPE_FILE && !same ? ESTALE : 0;
}

static int move_away(const struct staging *staging, struct step *step, int parent, const char *name) {
  if (renameat(parent, name, stage_of(staging, step), step->old) != 0) return errno;
  step->kept = true;
  return 0;
}

// The old one stays visible until the new one takes its name.
static int replace(const struct staging *staging, struct step *step, int parent, const char *name) {
  int stage = stage_of(staging, step);
  if (linkat(parent, name, stage, step->old, 0) == 0) step->kept = true;
  int error = step->kept ? 0 : move_away(staging, step, parent, name);
  if (error) return error;
  return renameat(stage, step->fresh, parent, name) == 0 ? 0 : errno;
}

static int place_leaf(const struct staging *staging, struct step *step, int parent, const char *name) {
  int error = 0;
  if (step->before.st_mode == 0) error = renameat(stage_of(staging, step), step->fresh, parent, name) == 0 ? 0 : errno;
  else if (!S_ISDIR(step->before.st_mode)) error = replace(staging, step, parent, name);
  else {
    error = move_away(staging, step, parent, name);
    // A directory of an overlay that is partly in a lower layer cannot be moved.
    step->postponed = error == EXDEV;
    if (step->postponed) return 0;
    if (!error && renameat(stage_of(staging, step), step->fresh, parent, name) != 0) error = errno;
  }
  step->placed = !error;
  return error;
}

static int place_directory(const struct staging *staging, struct step *step, int parent, const char *name) {
  if (S_ISDIR(step->before.st_mode)) return 0;
  int error = step->before.st_mode ? move_away(staging, step, parent, name) : 0;
  if (!error && mkdirat(parent, name, 0700) != 0) error = errno;
  step->placed = !error;
  return error;
}

static int take_away(const struct staging *staging, struct step *step, int parent, const char *name) {
  int error = move_away(staging, step, parent, name);
  step->postponed = error == EXDEV && S_ISDIR(step->before.st_mode);
  return step->postponed ? 0 : error;
}

int step_apply(const struct staging *staging, struct step *step) {
  int parent;
  char name[256];
  int error = find(staging, step, &parent, name);
  if (error) return error;
  if (step->operation.kind == OPERATION_REMOVE) error = take_away(staging, step, parent, name);
  else if (step->operation.type == TYPE_DIRECTORY) error = place_directory(staging, step, parent, name);
  else error = place_leaf(staging, step, parent, name);
  close(parent);
  return error;
}

int step_finish(const struct staging *staging, struct step *step) {
  const struct operation *operation = &step->operation;
  if (operation->kind != OPERATION_PLACE || operation->type != TYPE_DIRECTORY) return 0;
  int parent;
  char name[256];
  int error = find(staging, step, &parent, name);
  if (error) return error;
  step->attributes = true;
  error = set_owner(parent, name, operation->uid, operation->gid);
  if (!error && fchmodat(parent, name, operation->mode, 0) != 0) error = errno;
  if (!error) set_modified(parent, name, operation->modified);
  close(parent);
  return error;
}

int step_remove(const struct staging *staging, struct step *step) {
  int parent;
  char name[256];
  int error = find(staging, step, &parent, name);
  if (error) return error;
  int directory = open_directory_at(parent, name);
  error = directory < 0 ? errno : remove_below(directory);
  if (!error && unlinkat(parent, name, AT_REMOVEDIR) != 0) error = errno;
  bool places = step->operation.kind == OPERATION_PLACE;
  if (!error && places && renameat(stage_of(staging, step), step->fresh, parent, name) != 0) error = errno;
  close(parent);
  return error;
}

// What cannot be put back is named, and the rest goes on.
void step_undo(const struct staging *staging, struct step *step) {
  const struct operation *operation = &step->operation;
  bool directory = operation->kind == OPERATION_PLACE && operation->type == TYPE_DIRECTORY;
  int parent = -1;
  char name[256];
  if (!step->placed && !step->kept && !step->attributes) return;
  int error = find(staging, step, &parent, name);
  if (!error && step->placed && (directory || !step->kept) && unlinkat(parent, name, directory ? AT_REMOVEDIR : 0) != 0) error = errno;
  if (!error && step->kept && renameat(stage_of(staging, step), step->old, parent, name) != 0) error = errno;
  if (!error && step->attributes && !step->placed) {
    error = set_owner(parent, name, step->before.st_uid, step->before.st_gid);
    if (!error && fchmodat(parent, name, step->before.st_mode & 07777, 0) != 0) error = errno;
  }
  if (error) fprintf(stderr, "hearth-guest: %s cannot be put back: %s\n", operation->path, strerror(error));
  if (parent >= 0) close(parent);
}
