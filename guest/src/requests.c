#include "requests.h"

#include "configure.h"

#define REQUEST(constant, name)                                \
  case constant: {                                             \
    struct message_##name message;                             \
    if (!decode_##name(payload, &message)) return false;       \
    serve_##name(channel, &message);                         \
    return true;                                               \
  }

#define REQUEST_WITHOUT_FIELDS(constant, name)   \
  case constant:                                 \
    if (!decode_##name(payload)) return false;   \
    serve_##name(channel);                     \
    return true;

bool requests_receive(uint8_t type, uint32_t channel, struct slice payload) {
  // Whatever it is, it may take away what was made.
  if (type != MESSAGE_CONFIGURE) configuration.workdir_is_made = false;
  switch (type) {
    REQUEST(MESSAGE_CONFIGURE, configure)
    REQUEST(MESSAGE_SPAWN, spawn)
    REQUEST(MESSAGE_ATTACH, attach)
    REQUEST(MESSAGE_SIGNAL, signal)
    REQUEST(MESSAGE_RESIZE, resize)
    REQUEST_WITHOUT_FIELDS(MESSAGE_LIST_PROCESSES, list_processes)
    REQUEST(MESSAGE_FORGET, forget)
    REQUEST_WITHOUT_FIELDS(MESSAGE_WATCH_PROCESSES, watch_processes)
    REQUEST(MESSAGE_STDIN, stdin)
    REQUEST(MESSAGE_STAT, stat)
    REQUEST(MESSAGE_LIST, list)
    REQUEST(MESSAGE_READ, read)
    REQUEST(MESSAGE_WRITE, write)
    REQUEST(MESSAGE_MAKE_DIRECTORY, make_directory)
    REQUEST(MESSAGE_RENAME, rename)
    REQUEST(MESSAGE_REMOVE, remove)
    REQUEST(MESSAGE_SYMLINK, symlink)
    REQUEST(MESSAGE_CHANGE_MODE, change_mode)
    REQUEST(MESSAGE_WATCH, watch)
    REQUEST(MESSAGE_CREATE_TAR, create_tar)
    REQUEST(MESSAGE_EXTRACT_TAR, extract_tar)
    REQUEST(MESSAGE_LIST_CHANGES, list_changes)
    REQUEST(MESSAGE_APPLY_CHANGES, apply_changes)
    REQUEST(MESSAGE_CONNECT, connect)
    REQUEST(MESSAGE_NETWORK, network)
    REQUEST(MESSAGE_VOLUMES, volumes)
    REQUEST_WITHOUT_FIELDS(MESSAGE_STATISTICS, statistics)
    REQUEST_WITHOUT_FIELDS(MESSAGE_SHUTDOWN, shutdown)
    default:
      return false;
  }
}
