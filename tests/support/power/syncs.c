/* Writes down what processes force to the disk. Preloaded into them by LD_PRELOAD; see power_cut.py.
 *
 * A line is appended to the file WATCHFLOOR_SYNCS before each fsync and fdatasync, with what is on the disk after it:
 *   F inode size              of a file
 *   D inode name NUL … NUL    of a folder, with the names in it and their inodes: "name/inode"
 * and before each removal, after which the system may give the inode to another file:
 *   R inode
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name) ((int (*)()) dlsym(RTLD_NEXT, name))

static void record(const char *line, size_t length) {
  static int file = -1;
  if (file < 0) {
    const char *path = getenv("WATCHFLOOR_SYNCS");
    file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
  }
  if (file >= 0 && write(file, line, length) != (ssize_t) length) {
    abort();
  }
}

static void record_folder(int descriptor, ino_t inode) {
  char *line = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&line, &length);
  int again = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = fdopendir(again);
  if (!folder) {
    abort();
  }
  fprintf(out, "D %lu ", (unsigned long) inode);
  for (struct dirent *entry; (entry = readdir(folder));) {
    struct stat found;
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
        !fstatat(descriptor, entry->d_name, &found, AT_SYMLINK_NOFOLLOW)) {
      fprintf(out, "%s/%lu%c", entry->d_name, (unsigned long) found.st_ino, 0);
    }
  }
  fputc('\n', out);
  closedir(folder);
  fclose(out);
  record(line, length);
  free(line);
}

static void record_sync(int descriptor) {
  struct stat found;
  char line[64];
  if (fstat(descriptor, &found)) {
    return;
  }
  if (S_ISDIR(found.st_mode)) {
    record_folder(descriptor, found.st_ino);
  } else if (S_ISREG(found.st_mode)) {
    record(line, snprintf(line, sizeof line, "F %lu %ld\n", (unsigned long) found.st_ino, (long) found.st_size));
  }
}

static void record_removal(int folder, const char *path) {
  struct stat found;
  char line[64];
  if (!fstatat(folder, path, &found, AT_SYMLINK_NOFOLLOW) && found.st_nlink < 2) {
    record(line, snprintf(line, sizeof line, "R %lu\n", (unsigned long) found.st_ino));
  }
}

int fsync(int descriptor) {
  record_sync(descriptor);
  return REAL("fsync")(descriptor);
}

int fdatasync(int descriptor) {
  record_sync(descriptor);
  return REAL("fdatasync")(descriptor);
}

int remove(const char *path) {
  record_removal(AT_FDCWD, path);
  return REAL("remove")(path);
}

int unlink(const char *path) {
  record_removal(AT_FDCWD, path);
  return REAL("unlink")(path);
}

int unlinkat(int folder, const char *path, int flags) {
  record_removal(folder, path);
  return REAL("unlinkat")(folder, path, flags);
}
