#define _GNU_SOURCE
#include "confine-filter.h"

#include <errno.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#if defined(__x86_64__)
#define ARCHITECTURE 0xc000003eu
#else
#define ARCHITECTURE 0xc00000b7u
#endif
#define OTHER_NUMBERS 0x40000000u  // of the third way to call that x86 has

enum { LOAD_WORD = 0x20, JUMP_EQUAL = 0x15, JUMP_AT_LEAST = 0x35, JUMP_ANY_BIT = 0x45, RETURN = 0x06 };
enum { NUMBER_OFFSET = 0, ARCHITECTURE_OFFSET = 4, ARGUMENTS_OFFSET = 16 };

#define LOAD(offset) {LOAD_WORD, 0, 0, offset}
// The low half of it, which is all that the kernel looks at.
#define LOAD_ARGUMENT(index) LOAD(ARGUMENTS_OFFSET + 8 * (index))
#define ANSWER(error) {RETURN, 0, 0, 0x00050000u | (error)}
#define ALLOW {RETURN, 0, 0, 0x7fff0000u}
// How many instructions are left out when it is so, and when not.
#define EQUAL(wanted, so, not) {JUMP_EQUAL, so, not, wanted}
#define REFUSE(number, error) EQUAL(number, 0, 1), ANSWER(error)

static const struct filter_instruction instructions[] = {
    LOAD(ARCHITECTURE_OFFSET),
    EQUAL(ARCHITECTURE, 1, 0),
    ANSWER(ENOSYS),
    LOAD(NUMBER_OFFSET),
    {JUMP_AT_LEAST, 0, 1, OTHER_NUMBERS},
    ANSWER(ENOSYS),
    REFUSE(SYS_setns, EPERM),
    REFUSE(SYS_process_vm_readv, EPERM),
    REFUSE(SYS_process_vm_writev, EPERM),
    REFUSE(SYS_pidfd_getfd, EPERM),
    // The C library falls back to clone.
    REFUSE(SYS_clone3, ENOSYS),
    // A process may be traced by its parent when it asks for that; nobody is taken by his number.
    EQUAL(SYS_ptrace, 0, 5),
    LOAD_ARGUMENT(0),
    EQUAL(PTRACE_ATTACH, 1, 0),
    EQUAL(PTRACE_SEIZE, 0, 1),
    ANSWER(EPERM),
    ALLOW,
    EQUAL(SYS_unshare, 1, 0),
    EQUAL(SYS_clone, 0, 3),
    LOAD_ARGUMENT(0),
    {JUMP_ANY_BIT, 0, 1, CLONE_NEWUSER},
    ANSWER(EPERM),
    ALLOW,
};

const struct filter_program confine_filter = {sizeof instructions / sizeof *instructions, instructions};
