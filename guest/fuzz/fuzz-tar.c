// Arbitrary bytes as an archive. Nothing may appear outside the directory it is unpacked in.
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "configure.h"
#include "tar-extract.h"
#include "tar-format.h"

struct configuration configuration = {.workdir = "/"};

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk) {
  (void)status, (void)type;
  return walk->level == 0 ? 0 : remove(path);
}

// Headers whose sum is wrong are refused at once: give the fuzzer right ones, so that it gets further.
static void mend(uint8_t *bytes, size_t length) {
  for (size_t at = 0; at + TAR_BLOCK <= length; at += TAR_BLOCK) {
    struct tar_header *header = (struct tar_header *)(bytes + at);
    if (header->checksum[7] == 'f') snprintf(header->checksum, 7, "%06o", tar_checksum(header));
  }
}

static char outside[] = "/tmp/hearth-fuzz-XXXXXX";
static char inside[64];

static void remove_directories(void) {
  rmdir(inside);
  rmdir(outside);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
  if (!inside[0]) {
    if (!mkdtemp(outside)) abort();
    atexit(remove_directories);
    snprintf(inside, sizeof inside, "%s/inside", outside);
    mkdir(inside, 0755);
  }
  int archive = memfd_create("archive", MFD_CLOEXEC);
  uint8_t *copy = malloc(length + 1);
  if (archive < 0 || !copy) abort();
  memcpy(copy, bytes, length);
  mend(copy, length);
  if (write(archive, copy, length) != (ssize_t)length || lseek(archive, 0, SEEK_SET) != 0) abort();
  int directory = open(inside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  uint64_t written = 0;
  char what[240];
  struct user user = {.uid = getuid(), .gid = getgid()};
  tar_extract(directory, archive, &user, &written, what, sizeof what);
  if (written > length) __builtin_trap();
  close(directory);
  close(archive);
  free(copy);
  nftw(inside, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  struct stat status;
  // Only `inside` is in there: the link count of a directory is 2 and one for each directory in it.
  if (stat(outside, &status) != 0 || status.st_nlink != 3) __builtin_trap();
  return 0;
}
