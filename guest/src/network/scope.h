// A network of the sandbox: that of the machine, or the own one of a command whose policy is narrower. Each has a loopback that no other can
// reach, its own resolver there, and its own names.
#ifndef HEARTH_NETWORK_SCOPE_H
#define HEARTH_NETWORK_SCOPE_H
#include "channel.h"
#include "loop.h"

#define SCOPE_LIMIT 256u  // commands that have one at one time
#define NAME_BUCKETS 256u

struct name;

struct scope {
  struct scope *next;
  uint32_t process;  // 0: of the machine
  int network;       // its namespace; -1 for the guest's own
  struct slice policy;
  struct channel *told;  // the host knows of it as long as this is open
  struct source datagrams, streams;
  struct name *names[NAME_BUCKETS];
};

// NULL when there is none by now.
struct scope *scope_find(uint32_t process);
// The machine's first.
struct scope *scope_first(void);
// Makes the network of a command that is about to be started. 0 or an errno.
int scope_create(uint32_t process, struct slice policy);
// Nothing of the command is left.
void scope_release(uint32_t process);
void scope_release_all(void);

// What is made or started in between is in that network. The first gives 0 or an errno, and then nothing has changed.
int scope_enter(const struct scope *scope);
void scope_leave(const struct scope *scope);

// Opens the resolvers that are not open, and tells the host of those it does not know. 0 or an errno.
int scopes_serve(void);
// The host is told of nothing until then.
void scopes_suspend(void);
#endif
