// Identity and defaults of the machine, as the host gave them.
#ifndef HEARTH_CONFIGURE_H
#define HEARTH_CONFIGURE_H
#include "wire.h"

struct configuration {
  char workdir[4096];
  char user[128];
  uint8_t *environment_bytes;
  struct slice_list environment;  // K=V
  uint32_t open_files, pids, retained_output_bytes;
  bool workdir_is_made;  // for the default user, and no request has come since then
};

extern struct configuration configuration;

void configuration_release(void);
#endif
