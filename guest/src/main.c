// One program: the guest (inside a sandbox), the keeper (outside, one per sandbox), its bridge to a container engine, and a probe for benchmarks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/bridge.h"
#include "changes/changes.h"
#include "guest.h"
#include "keeper/checkpoint.h"
#include "keeper/hold.h"
#include "keeper/keeper.h"
#include "keeper/memory.h"
#include "keeper/nursery.h"
#include "keeper/store.h"
#include "keeper/trace.h"
#include "loop.h"
#include "volumes/volumes.h"

// The floor under every exec: fork and exec of /bin/true, in microseconds, one line each.
static int probe_exec(long count) {
  for (long i = 0; i < count; i++) {
    uint64_t start = monotonic_now();
    pid_t pid = fork();
    if (pid == 0) {
      execl("/bin/true", "true", (char *)NULL);
      _exit(127);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) return 1;
    printf("%.1f\n", (double)(monotonic_now() - start) / 1000.0);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "keeper") == 0) return keeper_main(argc, argv);
  if (argc > 1 && strcmp(argv[1], "nursery") == 0) return nursery_main(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "store") == 0) return store_main(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "memory") == 0) return memory_main(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "changes") == 0) return changes_main(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "checkpoint") == 0) return checkpoint_main(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "trace") == 0) return trace_main(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "volumes") == 0) return volumes_main(argc - 1, argv + 1);
  if (argc > 1 && strcmp(argv[1], "hold") == 0) return hold_main(argc - 1, argv + 1);
  if (argc > 2 && strcmp(argv[1], "probe-exec") == 0) return probe_exec(strtol(argv[2], NULL, 10));
  if (argc > 1 && strcmp(argv[1], "attach-docker") == 0) return bridge_attach(argc, argv);
  if (argc > 1 && strcmp(argv[1], "remove-docker") == 0) return bridge_remove(argc, argv);
  return guest_main();
}
