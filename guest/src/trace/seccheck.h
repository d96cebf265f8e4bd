// What gVisor's kernel tells of a process: one packet of its trace sessions, a header and a message of protocol buffers.
#ifndef HEARTH_TRACE_SECCHECK_H
#define HEARTH_TRACE_SECCHECK_H
#include "trace/report.h"

enum seccheck_kind { SECCHECK_OTHER, SECCHECK_CLONE, SECCHECK_EXECVE, SECCHECK_EXIT };

struct seccheck {
  enum seccheck_kind kind;
  uint64_t at;       // nanoseconds of its clock
  uint32_t pid;      // of whom it tells
  uint32_t created, created_thread;  // by a clone: equal when it is a process
  uint32_t status;   // of an exit, as wait() gives it
  uint32_t dropped;  // packets that did not fit, since the session began
  struct arguments arguments;
};

// SAFETY: the kernel of a sandbox may be in the hands of what runs there. Any bytes may come; a packet may be cut short.
// False when there is no header.
bool seccheck_read(const uint8_t *bytes, size_t length, struct seccheck *message);
#endif
