// The small answers that end a request.
#ifndef HEARTH_ANSWER_H
#define HEARTH_ANSWER_H
#include <stdint.h>

struct buffer;

void answer_done(uint32_t channel, uint64_t value);
// The text is followed by what errno means.
__attribute__((format(printf, 3, 4))) void answer_failed(uint32_t channel, int error, const char *format, ...);
// Done when error is 0, else Failed naming the path.
void answer_result(uint32_t channel, int error, const char *path);
void write_failed(struct buffer *out, uint32_t channel, int error, const char *what);
#endif
