// The byte stream to the host: frames in, a bounded queue of frames out.
#ifndef HEARTH_LINK_H
#define HEARTH_LINK_H
#include "wire.h"

// endless: the stream has no end (a virtio port, whose host comes and goes).
bool link_open(int input, int output, bool endless);
void link_close(void);
// Where frames for the host are written. Sent at the end of the round.
struct buffer *link_output(void);
// Writes what there is and lets channels produce. True when there is more to do at once.
bool link_pump(void);
// Sends the queue, waiting for the host as long as it takes but at most two seconds.
void link_drain(void);
// What is in the queue goes out, and nothing after it until link_thaw. Reading goes on.
void link_freeze(void);
// forget: what was said meanwhile belongs to a session that is over.
void link_thaw(bool forget);
// In a forked child: gives the buffers' memory back.
void link_release_memory(void);
#endif
