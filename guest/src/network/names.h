// Names that may be reached, each with an address of the loopback on whose ports the guest listens.
#ifndef HEARTH_NETWORK_NAMES_H
#define HEARTH_NETWORK_NAMES_H
#include "network/dns.h"
#include "network/scope.h"
#include "wire.h"

// Of all networks together.
#define NAME_LIMIT 1024u
#define LISTENER_LIMIT 4096u

// The address of a name; 0 when it is not known.
uint32_t names_find(struct scope *scope, const char *name);
// Listens at the address on these ports (a u16 each), and nowhere else for this name. A port that a program of the sandbox holds already is left
// to it. 0 or an errno, and then the name is not known.
int names_set(struct scope *scope, const char *name, uint32_t address, struct slice ports);
void names_forget(struct scope *scope, const char *name);
void names_forget_all(struct scope *scope);
// Calls it for every name. It must not change them.
void names_each(void (*visit)(struct scope *scope, const char *name));
// Whether connections are taken, in all networks. Those that are not wait in the kernel.
void names_accept(bool accepting);
#endif
