/* Lets the files below a folder find no room while another file exists, for tests where no small disk can be mounted.
 *
 * Loaded with LD_PRELOAD. Every other write that is refused hands over a half of its bytes first, as a disk does that fills up.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *root, *flag;
static size_t root_len;
static atomic_uint refused;

__attribute__((constructor)) static void start(void) {
    root = getenv("WEIR_NO_ROOM_ROOT");
    flag = getenv("WEIR_NO_ROOM_FLAG");
    root_len = root ? strlen(root) : 0;
}

static int is_full(void) {
    return root && flag && syscall(SYS_faccessat, AT_FDCWD, flag, F_OK) == 0;
}

static int below(const char *path) {
    return strncmp(path, root, root_len) == 0 && path[root_len] == '/';
}

static int has_no_room(int fd) {
    char link[64], path[PATH_MAX];
    int error = errno;
    if (!is_full()) { errno = error; return 0; }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    errno = error;
    if (len < 0) return 0;
    path[len] = 0;
    return below(path);
}

static int open_at(int dir, const char *path, int flags, mode_t mode) {
    if ((flags & O_CREAT) && path && is_full() && below(path)
        && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }

int open(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int openat(int dir, const char *path, int flags, ...) { MODE(flags) return open_at(dir, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { MODE(flags) return open_at(dir, path, flags, mode); }

ssize_t write(int fd, const void *bytes, size_t len) {
    if (has_no_room(fd)) {
        if (len < 2 || atomic_fetch_add(&refused, 1) % 2) { errno = ENOSPC; return -1; }
        len /= 2;
    }
    return syscall(SYS_write, fd, bytes, len);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (has_no_room(fd)) { errno = ENOSPC; return -1; }
    return syscall(SYS_writev, fd, parts, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at) {
    if (has_no_room(fd)) { errno = ENOSPC; return -1; }
    return syscall(SYS_pwrite64, fd, bytes, len, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at) { return pwrite64(fd, bytes, len, at); }

int ftruncate64(int fd, off64_t len) {
    struct stat now;
    if (has_no_room(fd) && !fstat(fd, &now) && len > now.st_size) { errno = ENOSPC; return -1; }
    return (int)syscall(SYS_ftruncate, fd, len);
}
int ftruncate(int fd, off_t len) { return ftruncate64(fd, len); }

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t len, unsigned flags) {
    if (has_no_room(to)) { errno = ENOSPC; return -1; }
    return syscall(SYS_copy_file_range, from, from_at, to, to_at, len, flags);
}
