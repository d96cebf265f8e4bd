#define _GNU_SOURCE
#include "translate.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "held-numbers.h"
#include "window.h"

#define OWN_SECONDS 3600u
#define DATA_PAGES (VOLUME_DATA_LIMIT / 4096)
#define RENAME_EXCHANGE 2u
#define FEATURES (FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_DO_READDIRPLUS | FUSE_READDIRPLUS_AUTO | FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES | FUSE_HANDLE_KILLPRIV_V2)
// The one writer of a volume knows by himself what changes.
#define WRITER_FEATURES (FEATURES | FUSE_NO_OPEN_SUPPORT | FUSE_NO_OPENDIR_SUPPORT | FUSE_CACHE_SYMLINKS | FUSE_EXPLICIT_INVAL_DATA)
#define READER_FEATURES (FEATURES | FUSE_AUTO_INVAL_DATA)

// Of one message at a time: a forgotten file more is only let go with the next.
static struct {
  struct volume_request request;
  uint32_t numbers[VOLUME_HELD_LIMIT];
} drops;
static size_t drop_count;

static void note_drop(uint32_t held) {
  drops.numbers[drop_count++] = held;
  // Whoever takes the number next asks for it behind this.
  held_number_free(held);
}

const uint8_t *translate_drops(size_t *length) {
  *length = drop_count ? sizeof drops.request + drop_count * sizeof *drops.numbers : 0;
  drops.request = (struct volume_request){.length = (uint32_t)*length, .opcode = VOLUME_DROP};
  drop_count = 0;
  return (const uint8_t *)&drops;
}

static struct translation reply(int error, const void *body, size_t length) { return (struct translation){TRANSLATED_ANSWER, error, body, NULL, length}; }
static const struct translation silent = {TRANSLATED_SILENT, 0, NULL, NULL, 0};

static struct translation initialise(const struct volume *volume, const uint8_t *arguments, size_t length) {
  static struct fuse_init_out out;
  struct fuse_init_in in;
  if (length < sizeof in) return reply(EPROTO, NULL, 0);
  memcpy(&in, arguments, sizeof in);
  uint32_t features = volume->read_only ? READER_FEATURES : WRITER_FEATURES;
  out = (struct fuse_init_out){.major = 7, .minor = 31, .max_readahead = in.max_readahead, .flags = in.flags & features, .max_background = 32, .congestion_threshold = 24,
                               .max_write = VOLUME_DATA_LIMIT, .time_gran = 1, .max_pages = DATA_PAGES};
  return reply(0, &out, sizeof out);
}

static struct translation forget(struct volume *volume, const struct fuse_in_header *header, const uint8_t *arguments, size_t length) {
  struct fuse_forget_one one = {header->nodeid, 0};
  if (header->opcode == FUSE_FORGET && length >= sizeof one.nlookup) {
    memcpy(&one.nlookup, arguments, sizeof one.nlookup);
    nodes_forget(&volume->nodes, one.nodeid, one.nlookup, note_drop);
    return silent;
  }
  for (size_t at = sizeof(struct fuse_batch_forget_in); at + sizeof one <= length; at += sizeof one) {
    memcpy(&one, arguments + at, sizeof one);
    nodes_forget(&volume->nodes, one.nodeid, one.nlookup, note_drop);
  }
  return silent;
}

// Where the name of the new or the removed entry begins in the arguments; -1 for what has none.
static int name_offset(uint32_t opcode) {
  switch (opcode) {
    case FUSE_LOOKUP: case FUSE_SYMLINK: case FUSE_UNLINK: case FUSE_RMDIR:
      return 0;
    case FUSE_MKNOD:
      return sizeof(struct fuse_mknod_in);
    case FUSE_MKDIR:
      return sizeof(struct fuse_mkdir_in);
    case FUSE_CREATE:
      return sizeof(struct fuse_create_in);
    case FUSE_LINK:
      return sizeof(struct fuse_link_in);
    case FUSE_RENAME:
      return sizeof(struct fuse_rename_in);
    case FUSE_RENAME2:
      return sizeof(struct fuse_rename2_in);
    default:
      return -1;
  }
}

static bool is_rename(uint32_t opcode) { return opcode == FUSE_RENAME || opcode == FUSE_RENAME2; }
static bool takes_names(uint32_t opcode) { return opcode == FUSE_UNLINK || opcode == FUSE_RMDIR || is_rename(opcode); }
static bool has_other(uint32_t opcode) { return opcode == FUSE_LINK || is_rename(opcode); }

// The name is the kernel's, and short enough.
static size_t copy_name(char target[FUSE_NAME_MAX + 1], const uint8_t *arguments, size_t length, size_t offset) {
  size_t size = offset < length ? strnlen((const char *)arguments + offset, length - offset) : 0;
  size_t kept = size < FUSE_NAME_MAX ? size : FUSE_NAME_MAX;
  memcpy(target, arguments + offset, kept);
  target[kept] = 0;
  return offset + size + 1;
}

static uint32_t number_for(const struct volume *volume, const struct node *parent, const char *text) {
  const struct name *name = nodes_name(&volume->nodes, parent, text);
  // Somebody may have it open; with another name it is found by that.
  return name && !name->node->is_directory && !name->next_of_node && name->node->names == name ? held_number_take() : 0;
}

static void note_names(struct pending *pending, const uint8_t *arguments, size_t length) {
  int offset = name_offset(pending->opcode);
  if (offset < 0) return;
  size_t next = copy_name(pending->name, arguments, length, (size_t)offset);
  if (!is_rename(pending->opcode)) {
    if (pending->opcode == FUSE_UNLINK) pending->hold = number_for(pending->volume, pending->node, pending->name);
    return;
  }
  copy_name(pending->other_name, arguments, length, next);
  if (pending->opcode == FUSE_RENAME2) memcpy(&pending->flags, arguments + sizeof(uint64_t), sizeof pending->flags);
  if (!(pending->flags & RENAME_EXCHANGE)) pending->hold = number_for(pending->volume, pending->other, pending->other_name);
}

static unsigned part_for(uint32_t opcode, const uint8_t *arguments, size_t length) {
  struct fuse_read_in in;
  if (opcode != FUSE_READ || length < sizeof in) return 0;
  memcpy(&in, arguments, sizeof in);
  return in.size > VOLUME_WINDOW_LEAST ? window_take() : 0;
}

static struct translation forward(struct volume *volume, const struct fuse_in_header *header, uint8_t *arguments, size_t length) {
  static char path[VOLUME_PATH_LIMIT + 1], other_path[VOLUME_PATH_LIMIT + 1];
  struct node *node = nodes_find(&volume->nodes, header->nodeid), *other = NULL;
  uint64_t other_id;
  int path_length = 0, other_length = 0;
  if (!node) return reply(header->nodeid ? ESTALE : 0, NULL, 0);
  if (has_other(header->opcode)) {
    if (length < sizeof other_id) return reply(EINVAL, NULL, 0);
    memcpy(&other_id, arguments, sizeof other_id);
    other = nodes_find(&volume->nodes, other_id);
    other_length = other ? nodes_path(other, other_path, VOLUME_PATH_LIMIT) : -1;
  }
  // One that was opened and has lost its names is known by its number alone.
  uint32_t held = node->names ? 0 : node->held;
  if (!held) path_length = nodes_path(node, path, VOLUME_PATH_LIMIT);
  if (path_length < 0 || other_length < 0) return reply(node->names ? ENAMETOOLONG : ESTALE, NULL, 0);
  struct pending *pending = pending_add(takes_names(header->opcode));
  pending->volume = volume;
  pending->unique = header->unique;
  pending->opcode = header->opcode;
  pending->node = node;
  pending->other = other;
  note_names(pending, arguments, length);
  pending->part = part_for(header->opcode, arguments, length);
  uint8_t *at = arguments - other_length;
  memcpy(at, other_path, (size_t)other_length);
  at -= path_length;
  memcpy(at, path, (size_t)path_length);
  at -= sizeof(struct volume_request);
  size_t whole = sizeof(struct volume_request) + (size_t)path_length + (size_t)other_length + length;
  struct volume_request request = {(uint32_t)whole, header->opcode, pending->tag, header->uid, header->gid, held, pending->hold, volume->number, (uint16_t)path_length, (uint16_t)other_length, (uint16_t)pending->part};
  memcpy(at, &request, sizeof request);
  return (struct translation){TRANSLATED_REQUEST, 0, NULL, at, whole};
}

// What needs no way to the host: the kernel looks for privileges of a file before it writes to it, and for colours when it lists.
static struct translation get_attribute(struct volume *volume, const struct fuse_in_header *header, uint8_t *arguments, size_t length) {
  const size_t offset = sizeof(struct fuse_getxattr_in), prefix = sizeof "user." - 1;
  if (length < offset + prefix || memcmp(arguments + offset, "user.", prefix) != 0) return reply(ENODATA, NULL, 0);
  return forward(volume, header, arguments, length);
}

// The one writer need not say when it opens a file. Whoever reads begins anew each time.
static struct translation open_file(const struct volume *volume) {
  static const struct fuse_open_out out;
  return volume->read_only ? reply(0, &out, sizeof out) : reply(ENOSYS, NULL, 0);
}

struct translation translate_request(struct volume *volume, const struct fuse_in_header *header, uint8_t *arguments, size_t length) {
  switch (header->opcode) {
    case FUSE_INIT:
      return initialise(volume, arguments, length);
    case FUSE_FORGET: case FUSE_BATCH_FORGET:
      return forget(volume, header, arguments, length);
    case FUSE_INTERRUPT:
      return silent;
    case FUSE_DESTROY: case FUSE_RELEASE: case FUSE_RELEASEDIR:
      return reply(0, NULL, 0);
    case FUSE_OPEN: case FUSE_OPENDIR:
      return open_file(volume);
    case FUSE_GETXATTR:
      return get_attribute(volume, header, arguments, length);
    case FUSE_LOOKUP: case FUSE_GETATTR: case FUSE_SETATTR: case FUSE_READLINK: case FUSE_SYMLINK: case FUSE_MKNOD: case FUSE_MKDIR: case FUSE_UNLINK:
    case FUSE_RMDIR: case FUSE_RENAME: case FUSE_RENAME2: case FUSE_LINK: case FUSE_CREATE: case FUSE_READ: case FUSE_WRITE: case FUSE_STATFS:
    case FUSE_FSYNC: case FUSE_FSYNCDIR: case FUSE_SETXATTR: case FUSE_LISTXATTR: case FUSE_REMOVEXATTR: case FUSE_READDIR: case FUSE_READDIRPLUS:
    case FUSE_FALLOCATE: case FUSE_LSEEK:
      return forward(volume, header, arguments, length);
    default:
      // The kernel does without, or by itself.
      return reply(ENOSYS, NULL, 0);
  }
}

static bool add_entry(const struct pending *pending, struct node *parent, const char *name, uint8_t *bytes) {
  struct fuse_entry_out entry;
  memcpy(&entry, bytes, sizeof entry);
  struct node *node = nodes_add(&pending->volume->nodes, parent, name, entry.attr.ino, S_ISDIR(entry.attr.mode));
  entry.nodeid = node ? node->id : 0;
  memcpy(bytes, &entry, sizeof entry);
  return node != NULL;
}

static void add_listed(const struct pending *pending, uint8_t *bytes, size_t length) {
  struct fuse_direntplus item;
  char name[FUSE_NAME_MAX + 1];
  for (size_t at = 0; at + sizeof item <= length; at += FUSE_ALIGN(sizeof item + item.dirent.namelen)) {
    memcpy(&item, bytes + at, sizeof item);
    if (item.dirent.namelen > FUSE_NAME_MAX || at + sizeof item + item.dirent.namelen > length) return;
    if (item.entry.nodeid == 0) continue;
    memcpy(name, bytes + at + sizeof item, item.dirent.namelen);
    name[item.dirent.namelen] = 0;
    // Without memory the kernel gets the name alone.
    add_entry(pending, pending->node, name, bytes + at);
  }
}

static void rename_nodes(const struct pending *pending) {
  struct nodes *nodes = &pending->volume->nodes;
  if (pending->flags & RENAME_EXCHANGE) nodes_exchange(nodes, pending->node, pending->name, pending->other, pending->other_name);
  else nodes_move(nodes, pending->node, pending->name, pending->other, pending->other_name);
}

// The host holds it from now on, if it had to: a number of which it knows nothing is only refused.
static void take_names(const struct pending *pending, int32_t error) {
  bool renamed = is_rename(pending->opcode);
  struct node *parent = renamed ? pending->other : pending->node;
  const char *text = renamed ? pending->other_name : pending->name;
  struct name *name = nodes_name(&pending->volume->nodes, parent, text);
  if (pending->hold && (error || !name)) held_number_free(pending->hold);
  if (error) return;
  if (pending->hold && name) name->node->held = pending->hold;
  if (renamed) rename_nodes(pending);
  else nodes_remove(&pending->volume->nodes, parent, text);
}

// The kernel need not ask again for what is not there, where nobody else makes it.
static const uint8_t *answer_absent(const struct pending *pending, size_t *length) {
  static struct {
    struct fuse_out_header header;
    struct fuse_entry_out entry;
  } absent;
  absent.header = (struct fuse_out_header){sizeof absent, 0, pending->unique};
  absent.entry = (struct fuse_entry_out){.entry_valid = OWN_SECONDS};
  *length = sizeof absent;
  return (const uint8_t *)&absent;
}

static const uint8_t *answer_in_window(const struct pending *pending, const uint8_t *body, size_t *length) {
  static struct fuse_out_header failed;
  uint32_t size = 0;
  if (*length >= sizeof failed + sizeof size) memcpy(&size, body, sizeof size);
  uint8_t *bytes = window_read(pending->part, size);
  struct fuse_out_header header = {(uint32_t)sizeof header + (bytes ? size : 0), bytes ? 0 : -EIO, pending->unique};
  *length = header.len;
  if (!bytes) failed = header;
  return bytes ? memcpy(bytes - sizeof header, &header, sizeof header) : (const uint8_t *)&failed;
}

static bool makes_entry(uint32_t opcode) { return name_offset(opcode) >= 0 && !takes_names(opcode); }

const uint8_t *translate_answer(const struct pending *pending, uint8_t *bytes, size_t *length) {
  struct fuse_out_header header;
  memcpy(&header, bytes, sizeof header);
  header.unique = pending->unique;
  uint8_t *body = bytes + sizeof header;
  if (header.error == VOLUME_IN_WINDOW) return answer_in_window(pending, body, length);
  if (takes_names(pending->opcode)) take_names(pending, header.error);
  if (pending->opcode == FUSE_LOOKUP && header.error == -ENOENT) {
    nodes_remove(&pending->volume->nodes, pending->node, pending->name);
    if (!pending->volume->read_only) return answer_absent(pending, length);
  }
  if (!header.error && makes_entry(pending->opcode) && (*length < sizeof header + sizeof(struct fuse_entry_out) || !add_entry(pending, pending->node, pending->name, body))) {
    header.error = -ENOMEM;
    header.len = sizeof header;
  }
  if (!header.error && pending->opcode == FUSE_READDIRPLUS) add_listed(pending, body, *length - sizeof header);
  memcpy(bytes, &header, sizeof header);
  *length = header.len;
  return bytes;
}
