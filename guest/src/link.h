// The stream to the host that a guest begins with: sessions and requests are on it.
#ifndef HEARTH_LINK_H
#define HEARTH_LINK_H
#include <stdbool.h>

struct buffer;
struct stream;

// endless: the stream has no end (a virtio port, whose host comes and goes).
bool link_open(int input, int output, bool endless);
void link_close(void);
struct stream *link_stream(void);
// Where frames for the host are written. Sent at the end of the round.
struct buffer *link_output(void);
// The turn of the link and of the lane. True when there is more to do at once.
bool link_pump(void);
#endif
