// Users and groups of the sandbox, from its /etc/passwd and /etc/group. No NSS: the program is static.
#ifndef HEARTH_USERS_H
#define HEARTH_USERS_H
#include <stdbool.h>
#include <sys/types.h>

#include "wire.h"

#define GROUP_LIMIT 64

struct user {
  uid_t uid;
  gid_t gid;
  char name[64];
  char home[512];
  char shell[256];
  uint32_t group_count;
  gid_t groups[GROUP_LIMIT];
};

// "" is the default user; "name", "uid", and either with ":group". 0 or an errno.
int users_find(struct slice wanted, struct user *user);
bool users_is_default(struct slice wanted);
// What "" means from now on; empty: the guest's own user.
void users_set_default(struct slice wanted);
bool users_is_own(const struct user *user);
// False in a user namespace that knows one user only.
bool users_can_switch(void);

// The parts that read text, for the tests and the fuzzer.
bool passwd_find(struct slice text, struct slice name, bool by_number, uid_t number, struct user *user);
bool group_find(struct slice text, struct slice name, gid_t *gid);
void group_collect(struct slice text, const char *member, struct user *user);
#endif
