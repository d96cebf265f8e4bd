// Who is to be killed first when memory runs out: commands, before the guest and its supervisors.
#ifndef HEARTH_OOM_SCORE_H
#define HEARTH_OOM_SCORE_H
#include <stdbool.h>

#define OOM_SCORE_FILE "/proc/self/oom_score_adj"
#define OOM_SCORE "500"

// own_kernel: the guest is the init of this kernel.
void oom_score_open(bool own_kernel);
// Whether each command has to raise its own.
bool oom_score_is_raised_by_commands(void);
#endif
