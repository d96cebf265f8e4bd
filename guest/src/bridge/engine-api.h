// The few calls of the Docker Engine API that the bridge makes, over its unix socket.
#ifndef HEARTH_ENGINE_API_H
#define HEARTH_ENGINE_API_H
#include <stddef.h>

struct engine_body {
  const char *bytes;
  size_t length;
};

// A connection to the engine, or -1 with errno.
int engine_connect(const char *socket_path);
// One request on a connection of its own; the status, or -1. What a refusal says goes to standard error.
int engine_call(const char *socket_path, const char *method, const char *path, struct engine_body body);
// Asks for a connection that becomes the container's streams. Gives the descriptor, or -1; nothing of the streams has been read yet.
int engine_hijack(const char *socket_path, const char *path);
#endif
