#include "nodes.h"

#include <stdlib.h>
#include <string.h>

#include "fuse-abi.h"

#define FIRST_BUCKETS 256

static size_t mix(uint64_t value) {
  value *= 0x9e3779b97f4a7c15u;
  return (size_t)(value >> 32);
}

static size_t name_hash(const struct node *parent, const char *text) {
  uint64_t hash = parent->id;
  for (; *text; text++) hash = hash * 31 + (unsigned char)*text;
  return mix(hash);
}

static void link_node(struct nodes *nodes, struct node *node) {
  struct node **id = &nodes->by_id[mix(node->id) % nodes->buckets], **inode = &nodes->by_inode[mix(node->inode) % nodes->buckets];
  node->next_by_id = *id;
  node->next_by_inode = *inode;
  *id = *inode = node;
}

static void link_name(struct nodes *nodes, struct name *name) {
  struct name **bucket = &nodes->by_name[name_hash(name->parent, name->text) % nodes->buckets];
  name->next = *bucket;
  *bucket = name;
}

// Without memory for it the chains only become longer.
static void grow(struct nodes *nodes) {
  struct nodes larger = *nodes;
  larger.buckets = nodes->buckets * 4;
  larger.by_id = calloc(larger.buckets, sizeof *larger.by_id);
  larger.by_inode = calloc(larger.buckets, sizeof *larger.by_inode);
  larger.by_name = calloc(larger.buckets, sizeof *larger.by_name);
  if (!larger.by_id || !larger.by_inode || !larger.by_name) {
    free(larger.by_id);
    free(larger.by_inode);
    free(larger.by_name);
    return;
  }
  for (size_t i = 0; i < nodes->buckets; i++) {
    for (struct node *node = nodes->by_id[i], *next; node; node = next) {
      next = node->next_by_id;
      link_node(&larger, node);
    }
    for (struct name *name = nodes->by_name[i], *next; name; name = next) {
      next = name->next;
      link_name(&larger, name);
    }
  }
  free(nodes->by_id);
  free(nodes->by_inode);
  free(nodes->by_name);
  *nodes = larger;
}

bool nodes_open(struct nodes *nodes) {
  *nodes = (struct nodes){.buckets = FIRST_BUCKETS, .last_id = FUSE_ROOT_ID};
  nodes->by_id = calloc(nodes->buckets, sizeof *nodes->by_id);
  nodes->by_inode = calloc(nodes->buckets, sizeof *nodes->by_inode);
  nodes->by_name = calloc(nodes->buckets, sizeof *nodes->by_name);
  struct node *root = calloc(1, sizeof *root);
  if (!nodes->by_id || !nodes->by_inode || !nodes->by_name || !root) return false;
  *root = (struct node){.id = FUSE_ROOT_ID, .lookups = 1, .is_directory = true};
  link_node(nodes, root);
  nodes->count = 1;
  return true;
}

struct node *nodes_find(const struct nodes *nodes, uint64_t id) {
  struct node *node = nodes->by_id[mix(id) % nodes->buckets];
  while (node && node->id != id) node = node->next_by_id;
  return node;
}

int nodes_path(const struct node *node, char *path, size_t size) {
  size_t start = size;
  for (; node->id != FUSE_ROOT_ID; node = node->names->parent) {
    if (!node->names) return -1;
    size_t length = strlen(node->names->text);
    if (start < length + 1) return -1;
    if (start < size) path[--start] = '/';
    start -= length;
    memcpy(path + start, node->names->text, length);
  }
  memmove(path, path + start, size - start);
  return (int)(size - start);
}

struct name *nodes_name(const struct nodes *nodes, const struct node *parent, const char *text) {
  struct name *name = nodes->by_name[name_hash(parent, text) % nodes->buckets];
  while (name && (name->parent != parent || strcmp(name->text, text) != 0)) name = name->next;
  return name;
}

static void unlink_node(struct nodes *nodes, struct node *node) {
  struct node **at = &nodes->by_id[mix(node->id) % nodes->buckets];
  while (*at != node) at = &(*at)->next_by_id;
  *at = node->next_by_id;
  at = &nodes->by_inode[mix(node->inode) % nodes->buckets];
  while (*at != node) at = &(*at)->next_by_inode;
  *at = node->next_by_inode;
}

static struct node *take_name_away(struct nodes *nodes, struct name *name) {
  struct name **at = &nodes->by_name[name_hash(name->parent, name->text) % nodes->buckets];
  while (*at != name) at = &(*at)->next;
  *at = name->next;
  at = &name->node->names;
  while (*at != name) at = &(*at)->next_of_node;
  *at = name->next_of_node;
  struct node *parent = name->parent;
  parent->children--;
  free(name);
  return parent;
}

// What the kernel does not know and nothing lies in goes, and so may what it lay in.
static void settle(struct nodes *nodes, struct node *node, void (*released)(uint32_t held)) {
  while (node && node->id != FUSE_ROOT_ID && node->lookups == 0 && node->children == 0) {
    struct node *parent = NULL;
    // More than one name is rare; the parents of the others are found when they are forgotten themselves.
    while (node->names) parent = take_name_away(nodes, node->names);
    if (node->held && released) released(node->held);
    unlink_node(nodes, node);
    free(node);
    nodes->count--;
    node = parent;
  }
}

static bool give_name(struct nodes *nodes, struct node *node, struct node *parent, const char *text) {
  size_t length = strlen(text);
  struct name *name = malloc(sizeof *name + length + 1);
  if (!name) return false;
  *name = (struct name){.parent = parent, .node = node, .next_of_node = node->names};
  memcpy(name->text, text, length + 1);
  node->names = name;
  parent->children++;
  link_name(nodes, name);
  return true;
}

// A directory that lost its name is another one should its number come again: nobody holds it on the host.
static struct node *find_by_inode(const struct nodes *nodes, uint64_t inode, bool is_directory) {
  struct node *node = nodes->by_inode[mix(inode) % nodes->buckets];
  while (node && (node->inode == 0 || node->inode != inode || node->is_directory != is_directory || node->id == FUSE_ROOT_ID || (!node->names && !node->held))) node = node->next_by_inode;
  return node;
}

static void renumber(struct nodes *nodes, struct node *node, uint64_t inode) {
  unlink_node(nodes, node);
  node->inode = inode;
  link_node(nodes, node);
}

void nodes_renumber(struct nodes *nodes) {
  for (size_t i = 0; i < nodes->buckets; i++) nodes->by_inode[i] = NULL;
  for (size_t i = 0; i < nodes->buckets; i++) {
    for (struct node *node = nodes->by_id[i]; node; node = node->next_by_id) {
      node->inode = 0;
      node->next_by_inode = nodes->by_inode[0];
      nodes->by_inode[0] = node;
    }
  }
}

struct node *nodes_add(struct nodes *nodes, struct node *parent, const char *text, uint64_t inode, bool is_directory) {
  struct name *name = nodes_name(nodes, parent, text);
  struct node *node = name ? name->node : NULL;
  if (node && node->inode == 0 && node->is_directory == is_directory) renumber(nodes, node, inode);
  if (node && (node->inode != inode || node->is_directory != is_directory)) {
    take_name_away(nodes, name);
    node = NULL;
    name = NULL;
  }
  if (!node) node = find_by_inode(nodes, inode, is_directory);
  if (!node) {
    node = calloc(1, sizeof *node);
    if (!node) return NULL;
    *node = (struct node){.id = ++nodes->last_id, .inode = inode, .is_directory = is_directory};
    if (nodes->count++ > nodes->buckets) grow(nodes);
    link_node(nodes, node);
  } else if (!name && is_directory && node->names) {
    // It was moved by somebody else: it has one name only.
    take_name_away(nodes, node->names);
  }
  if (!name && !give_name(nodes, node, parent, text)) {
    settle(nodes, node, NULL);
    return NULL;
  }
  node->lookups++;
  return node;
}

void nodes_remove(struct nodes *nodes, struct node *parent, const char *text) {
  struct name *name = nodes_name(nodes, parent, text);
  if (name) take_name_away(nodes, name);
}

bool nodes_move(struct nodes *nodes, struct node *parent, const char *text, struct node *target, const char *new_text) {
  struct name *name = nodes_name(nodes, parent, text);
  nodes_remove(nodes, target, new_text);
  if (!name) return true;
  struct node *node = name->node;
  take_name_away(nodes, name);
  return give_name(nodes, node, target, new_text);
}

bool nodes_exchange(struct nodes *nodes, struct node *parent, const char *text, struct node *other, const char *other_text) {
  struct name *one = nodes_name(nodes, parent, text), *two = nodes_name(nodes, other, other_text);
  struct node *first = one ? one->node : NULL, *second = two ? two->node : NULL;
  if (one) take_name_away(nodes, one);
  if (two) take_name_away(nodes, two);
  bool given = !first || give_name(nodes, first, other, other_text);
  return (!second || give_name(nodes, second, parent, text)) && given;
}

void nodes_forget(struct nodes *nodes, uint64_t id, uint64_t count, void (*released)(uint32_t held)) {
  struct node *node = nodes_find(nodes, id);
  if (!node || id == FUSE_ROOT_ID) return;
  node->lookups = count < node->lookups ? node->lookups - count : 0;
  settle(nodes, node, released);
}
