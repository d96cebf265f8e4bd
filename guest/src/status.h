// What a supervisor tells the guest through its pipe. One record is one write.
#ifndef HEARTH_STATUS_H
#define HEARTH_STATUS_H
#include <stdint.h>

enum status_kind { STATUS_STARTED = 1, STATUS_FAILED, STATUS_EXITED };

// What could not be done before the program was executed.
enum launch_stage { STAGE_FORK, STAGE_TERMINAL, STAGE_LIMITS, STAGE_USER, STAGE_DIRECTORY, STAGE_EXECUTE };

struct status_record {
  uint32_t kind;
  int32_t value;  // started: pid; failed: errno; exited: wait status
  uint32_t stage;
  uint32_t reserved;
  uint64_t cpu_microseconds;
  uint64_t ended_at;  // monotonic nanoseconds
};
#endif
