// The files of a volume that the machine's kernel knows, by its numbers, and how they are called. What is remembered of a volume is remembered
// here, in the machine's own memory, so that a copy of the machine knows it too.
#ifndef HEARTH_VOLUMES_NODES_H
#define HEARTH_VOLUMES_NODES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name {
  struct node *parent, *node;
  struct name *next, *next_of_node;
  char text[];
};

struct node {
  uint64_t id, inode;
  uint64_t lookups;   // of the kernel, until it forgets them
  uint32_t children;  // names that lie in it
  uint32_t held;      // the host holds it under this number, since it has lost its last name; 0: it does not
  bool is_directory;
  struct name *names;
  struct node *next_by_id, *next_by_inode;
};

struct nodes {
  struct node **by_id, **by_inode;
  struct name **by_name;
  size_t buckets, count;
  uint64_t last_id;
};

bool nodes_open(struct nodes *nodes);
struct node *nodes_find(const struct nodes *nodes, uint64_t id);
// The length of the path from the top of the volume, without a slash at either end; -1 when there is none, or none that is short enough.
int nodes_path(const struct node *node, char *path, size_t size);
struct name *nodes_name(const struct nodes *nodes, const struct node *parent, const char *text);
// The kernel is told of one more that it has: what the parent has under this name. NULL: no memory.
struct node *nodes_add(struct nodes *nodes, struct node *parent, const char *text, uint64_t inode, bool is_directory);
void nodes_remove(struct nodes *nodes, struct node *parent, const char *text);
// False when there is no memory for it, and then the name is unknown.
bool nodes_move(struct nodes *nodes, struct node *parent, const char *text, struct node *target, const char *new_text);
bool nodes_exchange(struct nodes *nodes, struct node *parent, const char *text, struct node *other, const char *other_text);
// The files are those of a copy of the volume from now on, in which the same names lead to others of the host's numbers.
void nodes_renumber(struct nodes *nodes);
// The kernel knows it less often. `released` is called for what was held and is gone.
void nodes_forget(struct nodes *nodes, uint64_t id, uint64_t count, void (*released)(uint32_t held));
#endif
