#ifndef HEARTH_GUEST_H
#define HEARTH_GUEST_H
#include <stdbool.h>
#include <stdint.h>

#define FEATURE_SWITCH_USERS 1u
#define FEATURE_OWN_KERNEL 2u
#define FEATURE_OWN_NETWORKS 4u

int guest_main(void);
#endif
