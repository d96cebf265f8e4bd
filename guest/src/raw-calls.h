// System calls without the C library, for processes that share the guest's memory: its wrappers write errno, which is the guest's.
// The result is what the kernel says: an error is negative.
#ifndef HEARTH_RAW_CALLS_H
#define HEARTH_RAW_CALLS_H
#include <sys/syscall.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define raw_call(...) RAW_CALL_PAD(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)
#define RAW_CALL_PAD(number, a, b, c, d, e, f, ...) raw_call_padded(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

// Starts function(argument) in a child on a stack of its own, whose upper end is given; it may never return.
static inline long raw_clone(unsigned long flags, void *stack, void (*function)(void *), void *argument);

#if defined(__x86_64__)
static inline long raw_call_padded(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  register long sixth __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
                   : "rcx", "r11", "memory");
  return result;
}

static inline long raw_clone(unsigned long flags, void *stack, void (*function)(void *), void *argument) {
  long result;
  void **top = stack;
  *--top = argument;
  *--top = (void *)function;
  register long child_thread __asm__("r10") = 0;
  register long storage __asm__("r8") = 0;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "pop %%rax\n\t"
      "pop %%rdi\n\t"
      "call *%%rax\n\t"
      "ud2\n"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone), "D"(flags), "S"(top), "d"(0L), "r"(child_thread), "r"(storage)
      : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
static inline long raw_call_padded(long number, long a, long b, long c, long d, long e, long f) {
  register long call __asm__("x8") = number;
  register long first __asm__("x0") = a;
  register long second __asm__("x1") = b;
  register long third __asm__("x2") = c;
  register long fourth __asm__("x3") = d;
  register long fifth __asm__("x4") = e;
  register long sixth __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(first) : "r"(call), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth) : "memory");
  return first;
}

static inline long raw_clone(unsigned long flags, void *stack, void (*function)(void *), void *argument) {
  void **top = stack;
  *--top = argument;
  *--top = (void *)function;
  register long call __asm__("x8") = SYS_clone;
  register long first __asm__("x0") = (long)flags;
  register long second __asm__("x1") = (long)top;
  register long third __asm__("x2") = 0;
  register long fourth __asm__("x3") = 0;
  register long fifth __asm__("x4") = 0;
  __asm__ volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "ldp x9, x0, [sp], #16\n\t"
      "blr x9\n\t"
      "brk #0\n"
      "1:"
      : "+r"(first)
      : "r"(call), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
      : "x9", "memory");
  return first;
}
#else
#error "raw-calls.h knows x86_64 and aarch64"
#endif
#endif
