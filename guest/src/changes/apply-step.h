// One operation of a merge on its place in the tree, and how it is undone.
#ifndef HEARTH_CHANGES_APPLY_STEP_H
#define HEARTH_CHANGES_APPLY_STEP_H
#include <stdbool.h>

#include "changes/staging.h"

struct step {
  struct operation operation;
  int stage;
  char fresh[STAGED_NAME], old[STAGED_NAME];  // names in the stage
  bool placed, kept;     // the new one is in its place; the old one is in the stage
  bool attributes;       // those of a directory were changed; `before` has the old ones
  bool postponed;        // a directory that cannot be moved has to be removed for it
  struct stat before;
};

// Whether what is there is what the host took for its decision: 0, ESTALE, or another errno.
int step_check(const struct staging *staging, struct step *step);
int step_apply(const struct staging *staging, struct step *step);
// Modes and times of directories, when everything is in them.
int step_finish(const struct staging *staging, struct step *step);
// What was postponed. There is no way back from here.
int step_remove(const struct staging *staging, struct step *step);
void step_undo(const struct staging *staging, struct step *step);
#endif
