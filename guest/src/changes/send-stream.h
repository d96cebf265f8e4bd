// Which paths a btrfs send stream names. Bounded: a stream that breaks the format is refused, never trusted for a length.
#ifndef HEARTH_CHANGES_SEND_STREAM_H
#define HEARTH_CHANGES_SEND_STREAM_H
#include "changes/selection.h"

// Paths below `prefix` are added without it; all of them when it is empty. 0 or an errno.
int send_stream_read(int input, const char *prefix, struct selection *touched);
#endif
