// System calls with which a process takes hold of another, or makes namespaces in which it has every capability.
#ifndef HEARTH_CONFINE_FILTER_H
#define HEARTH_CONFINE_FILTER_H
#include <stdint.h>

// As the kernel wants them: its instructions, and a program of them.
struct filter_instruction {
  uint16_t code;
  uint8_t when, otherwise;
  uint32_t value;
};

struct filter_program {
  uint16_t length;
  const struct filter_instruction *instructions;
};

extern const struct filter_program confine_filter;
#endif
