// What a merge is made of, as the host sends it: each operation one record, little endian. See protocol.md.
#ifndef HEARTH_CHANGES_OPERATION_H
#define HEARTH_CHANGES_OPERATION_H
#include <stdint.h>
#include <sys/stat.h>

enum operation_kind { OPERATION_PLACE = 1, OPERATION_REMOVE = 2, OPERATION_COMMIT = 3 };
enum { TYPE_ABSENT, TYPE_FILE, TYPE_DIRECTORY, TYPE_SYMLINK, TYPE_FIFO };

struct operation {
  uint8_t kind, type;
  // What must be there: its type (0: nothing), and of a file its size and one of two times, which some kernels give in turn.
  uint8_t expected_type;
  uint32_t mode, uid, gid;
  uint64_t size, expected_size;
  int64_t modified, expected_modified[2];
  char *path, *target;  // the path without a leading slash
};

// 0 with an operation whose texts are the caller's to free, or an errno. The content of a file is left in the stream.
int operation_read(int input, struct operation *operation);
void operation_free(struct operation *operation);
int64_t modified_nanoseconds(const struct stat *status);
#endif
