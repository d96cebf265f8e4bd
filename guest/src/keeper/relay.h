// The established link: frames between the runtime and one engine at a time, until the sandbox is to end.
#ifndef HEARTH_KEEPER_RELAY_H
#define HEARTH_KEEPER_RELAY_H
#include "freezing.h"
#include "runtime-log.h"
#include "pump.h"
#include <sys/types.h>

enum relay_reason {
  RELAY_GOES_ON,
  RELAY_EXITED,    // the runtime ended by itself
  RELAY_CLOSED,    // the guest closed its stream and the runtime did not follow
  RELAY_TOLD,      // KeeperEnd or SIGTERM
  RELAY_ABANDONED, // no engine is there and none can come: link.sock is gone
  RELAY_EXPIRED,   // no engine is there, and the deadline has passed
  RELAY_VIOLATION, // the guest broke a rule of the link
};

struct relay {
  int engine; // or -1
  int guest;  // -1 after its end
  int errors; // -1 after its end
  int listener;
  int lane_listener; // or -1: the guest takes no lane
  int lane;          // of an engine, on its way to the guest; or -1
  int signals;
  char **cgroups; // of the sandbox, to be removed with it; NULL before they are known
  bool someone_waits; // another engine has connected, and is accepted when this one has gone
  bool engine_deaf; // it no longer takes anything; what it said before may still be there
  pid_t runtime;
  bool runtime_ended;
  int status;
  int64_t looked_at; // milliseconds, when link.sock was last looked for
  int64_t closed_at; // milliseconds, when the guest's stream ended
  bool told;          // by KeeperEnd
  enum relay_reason reason;
  struct pump to_guest;
  struct pump to_engine;
  struct runtime_log log;
  struct freezing freezing;
};

// Allocates the buffers. False when memory ran out.
bool relay_open(struct relay *relay);
void relay_run(struct relay *relay);

// Takes the status of what has ended. False when there are no children at all.
bool relay_reap(struct relay *relay);

// After the end of the runtime: passes on what it had said, as long as the engine takes it.
void relay_drain(struct relay *relay);

int64_t relay_now(void);

#endif
