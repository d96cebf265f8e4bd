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

static int probe_main(int argc, char **argv) { return argc > 1 ? probe_exec(strtol(argv[1], NULL, 10)) : 2; }

// Each with its own word as the first, but the three that take the program's name too.
static const struct {
  const char *word;
  int (*run)(int argc, char **argv);
  bool whole;
} MODES[] = {
    {"keeper", keeper_main, true},
    {"nursery", nursery_main, false},
    {"store", store_main, false},
    {"memory", memory_main, false},
    {"changes", changes_main, false},
    {"checkpoint", checkpoint_main, false},
    {"trace", trace_main, false},
    {"volumes", volumes_main, false},
    {"hold", hold_main, false},
    {"probe-exec", probe_main, false},
    {"attach-docker", bridge_attach, true},
    {"remove-docker", bridge_remove, true},
};
#define MODE_COUNT (sizeof MODES / sizeof *MODES)

// The kernel of a machine gives its first process the words that it does not know itself.
static bool is_init(char **argv) { return getpid() == 1 && argv[0] && strcmp(argv[0], "/init") == 0; }

int main(int argc, char **argv) {
  if (argc < 2 || is_init(argv)) return guest_main();
  for (size_t i = 0; i < MODE_COUNT; i++)
    if (strcmp(argv[1], MODES[i].word) == 0) return MODES[i].whole ? MODES[i].run(argc, argv) : MODES[i].run(argc - 1, argv + 1);
  // Of another version: a guest that nobody asked for would wait for ever.
  fprintf(stderr, "hearth-guest: %s is none of", argv[1]);
  for (size_t i = 0; i < MODE_COUNT; i++) fprintf(stderr, " %s", MODES[i].word);
  fprintf(stderr, "\n");
  return 2;
}
