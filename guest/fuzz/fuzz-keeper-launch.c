// libFuzzer target: KeeperLaunch from bytes to checked C strings.
// Linked with launch, steps, mounts, btrfs, failure and text-file of src/keeper.
#include "../src/keeper/launch.h"
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
  struct launch launch = {0};
  struct failure failure;
  if (size > FRAME_BYTES) return 0;
  if (!launch_decode((struct slice){input, (uint32_t)size}, &launch, &failure) && strlen(failure.what) == 0) __builtin_trap();
  launch_release(&launch);
  free(launch.environment);
  free(launch.cleanup);
  return 0;
}
