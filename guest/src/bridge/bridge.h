// Joins the link to a container behind the Docker Engine API: the runtime that a keeper executes for it.
#ifndef HEARTH_BRIDGE_H
#define HEARTH_BRIDGE_H

// attach-docker SOCKET NAME FILE: makes the container that FILE describes, attaches to it, starts it, and copies both ways to its end.
int bridge_attach(int argc, char **argv);
// remove-docker SOCKET NAME: removes the container, running or not. One that is gone is fine.
int bridge_remove(int argc, char **argv);
#endif
