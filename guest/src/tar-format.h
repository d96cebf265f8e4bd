// The blocks of a tar archive: ustar, with pax records and GNU's long names.
#ifndef HEARTH_TAR_FORMAT_H
#define HEARTH_TAR_FORMAT_H
#include <stdbool.h>
#include <stdint.h>

#define TAR_BLOCK 512u

struct tar_header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
  char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], padding[12];
};

_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a header is one block");

// Octal, or GNU's base 256. False when it is neither or does not fit.
bool tar_read_number(const char *field, uint32_t width, uint64_t *value);
// False when the value needs more digits than the field has.
bool tar_write_number(char *field, uint32_t width, uint64_t value);
uint32_t tar_checksum(const struct tar_header *header);
bool tar_is_zero(const struct tar_header *header);
#endif
