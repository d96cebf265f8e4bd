#include "serve.h"

#include <errno.h>
#include <string.h>

#include "operations.h"

static const struct volume_root *roots;
static size_t root_count;

static uint8_t *window;

void serve_window(uint8_t *given) { window = given; }

void serve_roots(const struct volume_root *given, size_t count) {
  roots = given;
  root_count = count;
}

// Those without an entry are ones that the kernel can do without, and does when it is told so.
static operation *const operations[] = {
    [FUSE_LOOKUP] = operate_lookup,
    [FUSE_GETATTR] = operate_getattr,
    [FUSE_SETATTR] = operate_setattr,
    [FUSE_READLINK] = operate_readlink,
    [FUSE_SYMLINK] = operate_symlink,
    [FUSE_MKNOD] = operate_mknod,
    [FUSE_MKDIR] = operate_mkdir,
    [FUSE_UNLINK] = operate_unlink,
    [FUSE_RMDIR] = operate_rmdir,
    [FUSE_RENAME] = operate_rename,
    [FUSE_LINK] = operate_link,
    [FUSE_READ] = operate_read,
    [FUSE_WRITE] = operate_write,
    [FUSE_STATFS] = operate_statfs,
    [FUSE_FSYNC] = operate_fsync,
    [FUSE_SETXATTR] = operate_setxattr,
    [FUSE_GETXATTR] = operate_getxattr,
    [FUSE_LISTXATTR] = operate_listxattr,
    [FUSE_REMOVEXATTR] = operate_removexattr,
    [FUSE_READDIR] = operate_readdir,
    [FUSE_FSYNCDIR] = operate_fsync,
    [FUSE_CREATE] = operate_create,
    [FUSE_FALLOCATE] = operate_fallocate,
    [FUSE_READDIRPLUS] = operate_readdirplus,
    [FUSE_RENAME2] = operate_rename2,
    [FUSE_LSEEK] = operate_lseek,
};

static void drop(const struct volume_call *call) {
  uint32_t number;
  for (size_t at = 0; at + sizeof number <= call->arguments_length; at += sizeof number) {
    memcpy(&number, call->arguments + at, sizeof number);
    hold_release(number);
  }
}

// The mount is for reading only too. These need not be told of it.
static bool only_reads(uint32_t opcode) {
  switch (opcode) {
    case FUSE_LOOKUP: case FUSE_GETATTR: case FUSE_READLINK: case FUSE_READ: case FUSE_STATFS: case FUSE_FSYNC: case FUSE_GETXATTR: case FUSE_LISTXATTR:
    case FUSE_READDIR: case FUSE_READDIRPLUS: case FUSE_FSYNCDIR: case FUSE_LSEEK:
      return true;
    default:
      return false;
  }
}

static int operate(const struct volume_call *call, struct answer *answer) {
  uint32_t opcode = call->request->opcode;
  if (call->request->volume >= root_count) return ENODEV;
  operation *wanted = opcode < sizeof operations / sizeof *operations ? operations[opcode] : NULL;
  if (wanted && call->root->read_only && !only_reads(opcode)) return EROFS;
  return wanted ? wanted(call, answer) : ENOSYS;
}

bool serve_request(const uint8_t *bytes, size_t length, struct volume_reply *reply) {
  struct volume_request request;
  char path[VOLUME_PATH_LIMIT + 1], other[VOLUME_PATH_LIMIT + 1];
  reply->header.len = 0;
  if (length < sizeof request) return false;
  memcpy(&request, bytes, sizeof request);
  size_t paths = (size_t)request.path_length + request.other_length;
  if (request.path_length > VOLUME_PATH_LIMIT || request.other_length > VOLUME_PATH_LIMIT || paths > length - sizeof request) return false;
  memcpy(path, bytes + sizeof request, request.path_length);
  memcpy(other, bytes + sizeof request + request.path_length, request.other_length);
  path[request.path_length] = other[request.other_length] = 0;
  struct volume_call call = {&request, request.volume < root_count ? &roots[request.volume] : NULL, path, other, bytes + sizeof request + paths, length - sizeof request - paths};
  if (request.opcode == VOLUME_DROP) {
    drop(&call);
    return true;
  }
  bool has_part = window && request.opcode == FUSE_READ && request.part > 0 && request.part <= VOLUME_WINDOW_PARTS;
  struct answer answer = {has_part ? window + (request.part - 1) * VOLUME_DATA_LIMIT : reply->body, 0};
  // A zero byte within a path would hide what is behind it.
  bool whole = strlen(path) == request.path_length && strlen(other) == request.other_length;
  int error = whole ? operate(&call, &answer) : EINVAL;
  if (error) answer.length = 0;
  reply->header = (struct fuse_out_header){(uint32_t)sizeof reply->header + answer.length, -error, request.tag};
  if (has_part && answer.length >= VOLUME_WINDOW_LEAST) {
    memcpy(reply->body, &answer.length, sizeof answer.length);
    reply->header.len = sizeof reply->header + sizeof answer.length;
    reply->header.error = VOLUME_IN_WINDOW;
  } else if (has_part) {
    memcpy(reply->body, answer.body, answer.length);
  }
  return true;
}
