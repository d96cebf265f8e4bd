#include "answer.h"

#include <stdarg.h>
#include <stdio.h>

#include "link.h"
#include "messages.gen.h"

void answer_done(uint32_t channel, uint64_t value) { encode_done(link_output(), channel, &(struct message_done){value}); }

void write_failed(struct buffer *out, uint32_t channel, int error, const char *what) {
  char text[512];
  snprintf(text, sizeof text, "%s: %s", what, strerror(error));
  encode_failed(out, channel, &(struct message_failed){(uint32_t)error, slice_of(text)});
}

void answer_failed(uint32_t channel, int error, const char *format, ...) {
  char what[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  write_failed(link_output(), channel, error, what);
}

void answer_result(uint32_t channel, int error, const char *path) {
  if (error == 0) answer_done(channel, 0);
  else answer_failed(channel, error, "%s", path);
}
