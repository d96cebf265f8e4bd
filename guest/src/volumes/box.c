#define _GNU_SOURCE
#include "box.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../confine-filter.h"
#include "../kernel-capabilities.h"
#include "volume-wire.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define SYS_FCHMODAT2 452
#define SET_FILTER 2
#define MEMORY_BYTES (64ul << 20)
#define OTHER_FILES 64  // roots, the stream, what an operation has open

#if defined(__x86_64__)
#define ARCHITECTURE 0xc000003eu
#else
#define ARCHITECTURE 0xc00000b7u
#endif

enum { LOAD_WORD = 0x20, JUMP_EQUAL = 0x15, RETURN = 0x06 };
enum { NUMBER_OFFSET = 0, ARCHITECTURE_OFFSET = 4 };
#define KILL 0x80000000u
#define REFUSE (0x00050000u | EPERM)
#define ALLOW 0x7fff0000u

static const int allowed[] = {
    SYS_read, SYS_write, SYS_pread64, SYS_pwrite64, SYS_lseek, SYS_close, SYS_fcntl, SYS_openat, SYS_openat2, SYS_fstat,
    SYS_newfstatat, SYS_statx, SYS_fstatfs, SYS_getdents64, SYS_readlinkat, SYS_mkdirat, SYS_mknodat, SYS_symlinkat, SYS_linkat, SYS_unlinkat,
    SYS_renameat2, SYS_fchmod, SYS_fchmodat, SYS_FCHMODAT2, SYS_fchownat, SYS_utimensat, SYS_ftruncate, SYS_fallocate, SYS_fsync, SYS_fdatasync,
    SYS_fsetxattr, SYS_fgetxattr, SYS_flistxattr, SYS_fremovexattr, SYS_rt_sigreturn, SYS_restart_syscall, SYS_exit, SYS_exit_group,
};
#define ALLOWED (sizeof allowed / sizeof *allowed)

static bool filter(void) {
  static struct filter_instruction instructions[ALLOWED + 6];
  size_t count = 0;
  instructions[count++] = (struct filter_instruction){LOAD_WORD, 0, 0, ARCHITECTURE_OFFSET};
  instructions[count++] = (struct filter_instruction){JUMP_EQUAL, 1, 0, ARCHITECTURE};
  instructions[count++] = (struct filter_instruction){RETURN, 0, 0, KILL};
  instructions[count++] = (struct filter_instruction){LOAD_WORD, 0, 0, NUMBER_OFFSET};
  // To the last instruction.
  for (size_t i = 0; i < ALLOWED; i++) instructions[count++] = (struct filter_instruction){JUMP_EQUAL, (uint8_t)(ALLOWED - i), 0, (uint32_t)allowed[i]};
  instructions[count++] = (struct filter_instruction){RETURN, 0, 0, REFUSE};
  instructions[count++] = (struct filter_instruction){RETURN, 0, 0, ALLOW};
  struct filter_program program = {(uint16_t)count, instructions};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SET_FILTER, &program) == 0;
}

static bool limit(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return false;
  rlim_t wanted = VOLUME_HELD_LIMIT + OTHER_FILES;
  files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
  struct rlimit memory = {MEMORY_BYTES, MEMORY_BYTES}, none = {0, 0};
  return setrlimit(RLIMIT_NOFILE, &files) == 0 && setrlimit(RLIMIT_DATA, &memory) == 0 && setrlimit(RLIMIT_CORE, &none) == 0;
}

// The owner of a file is whoever the machine says, and every file of the volume is within its reach.
static bool keep_capabilities(void) {
  uint32_t kept = CAPABILITY_BIT(CAP_CHOWN) | CAPABILITY_BIT(CAP_DAC_OVERRIDE) | CAPABILITY_BIT(CAP_FOWNER) | CAPABILITY_BIT(CAP_FSETID);
  struct capability_header header = {CAPABILITY_VERSION, 0};
  struct capability_sets sets[2] = {{kept, kept, 0}, {0, 0, 0}};
  return syscall(SYS_capset, &header, sets) == 0;
}

bool box_enter(const char *directory) {
  umask(0);
  return chroot(directory) == 0 && chdir("/") == 0 && limit() && prctl(PR_SET_DUMPABLE, 0) == 0 && keep_capabilities() && filter();
}
