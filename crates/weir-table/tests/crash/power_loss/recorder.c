/* Records every change of the files below a folder, in order, for the power-loss tests.
 *
 * Loaded with LD_PRELOAD. Each call that changes a file, a name or what is durable is made and recorded under one lock, so
 * the trace is a total order. fsync and fdatasync are recorded and not made: the test decides what survives.
 *
 * A record: op:1 inode:8 number:8 path length:4 path data length:4 data, all little endian as on the machines we test on.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, MKDIR, WRITE, TRUNCATE, SYNC, UNLINK, RMDIR, RENAME, SEEN };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *root;
static size_t root_len;
static dev_t root_dev;
static int trace = -1;

__attribute__((constructor)) static void start(void) {
    struct stat at;
    root = getenv("WEIR_RECORD_ROOT");
    const char *path = getenv("WEIR_RECORD_TRACE");
    if (!root || !path || stat(root, &at)) { root = NULL; return; }
    root_len = strlen(root);
    root_dev = at.st_dev;
    trace = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void put(const void *bytes, size_t len) {
    while (len > 0) {
        long done = syscall(SYS_write, trace, bytes, len);
        if (done < 0) abort();
        bytes = (const char *)bytes + done;
        len -= (size_t)done;
    }
}

static void record(uint8_t op, uint64_t inode, uint64_t number, const char *path, uint32_t path_len,
                   const void *data, uint32_t data_len) {
    char head[21];
    head[0] = (char)op;
    memcpy(head + 1, &inode, 8);
    memcpy(head + 9, &number, 8);
    memcpy(head + 17, &path_len, 4);
    put(head, sizeof head);
    put(path, path_len);
    put(&data_len, 4);
    put(data, data_len);
}

static int below(const char *path) {
    return trace >= 0 && path && strncmp(path, root, root_len) == 0 && path[root_len] == '/';
}

/* The inode of a regular file or a folder on the disk of the folder; zero for everything else. */
static uint64_t inode_of(int fd) {
    struct stat at;
    if (trace < 0 || fstat(fd, &at) || at.st_dev != root_dev) return 0;
    return S_ISREG(at.st_mode) || S_ISDIR(at.st_mode) ? at.st_ino : 0;
}

static uint64_t inode_at(const char *path) {
    struct stat at;
    return lstat(path, &at) ? 0 : at.st_ino;
}

static void record_path(uint8_t op, uint64_t inode, const char *path) {
    record(op, inode, 0, path, (uint32_t)strlen(path), NULL, 0);
}

static int open_at(int dir, const char *path, int flags, mode_t mode) {
    if (!below(path)) return (int)syscall(SYS_openat, dir, path, flags, mode);
    pthread_mutex_lock(&lock);
    int existed = access(path, F_OK) == 0;
    int fd = (int)syscall(SYS_openat, dir, path, flags, mode);
    int error = errno;
    if (fd >= 0) {
        uint64_t inode = inode_of(fd);
        record_path(existed ? SEEN : CREATE, inode, path);
        if (existed && (flags & O_TRUNC)) record(TRUNCATE, inode, 0, NULL, 0, NULL, 0);
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return fd;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }

int open(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int openat(int dir, const char *path, int flags, ...) { MODE(flags) return open_at(dir, path, flags, mode); }
int openat64(int dir, const char *path, int flags, ...) { MODE(flags) return open_at(dir, path, flags, mode); }

ssize_t write(int fd, const void *bytes, size_t len) {
    uint64_t inode = inode_of(fd);
    if (!inode) return syscall(SYS_write, fd, bytes, len);
    pthread_mutex_lock(&lock);
    ssize_t done = syscall(SYS_write, fd, bytes, len);
    int error = errno;
    if (done > 0) {
        uint64_t end = (uint64_t)lseek(fd, 0, SEEK_CUR);
        record(WRITE, inode, end - (uint64_t)done, NULL, 0, bytes, (uint32_t)done);
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    uint64_t inode = inode_of(fd);
    if (!inode) return syscall(SYS_writev, fd, parts, count);
    ssize_t total = 0;
    for (int part = 0; part < count; part++) {
        ssize_t done = write(fd, parts[part].iov_base, parts[part].iov_len);
        if (done < 0) return total > 0 ? total : done;
        total += done;
        if ((size_t)done < parts[part].iov_len) break;
    }
    return total;
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at) {
    uint64_t inode = inode_of(fd);
    if (!inode) return syscall(SYS_pwrite64, fd, bytes, len, at);
    pthread_mutex_lock(&lock);
    ssize_t done = syscall(SYS_pwrite64, fd, bytes, len, at);
    int error = errno;
    if (done > 0) record(WRITE, inode, (uint64_t)at, NULL, 0, bytes, (uint32_t)done);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}
ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at) { return pwrite64(fd, bytes, len, at); }

int ftruncate64(int fd, off64_t len) {
    uint64_t inode = inode_of(fd);
    pthread_mutex_lock(&lock);
    int done = (int)syscall(SYS_ftruncate, fd, len);
    int error = errno;
    if (done == 0 && inode) record(TRUNCATE, inode, (uint64_t)len, NULL, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}
int ftruncate(int fd, off_t len) { return ftruncate64(fd, len); }

static int sync_fd(int fd, long call) {
    uint64_t inode = inode_of(fd);
    if (!inode) return (int)syscall(call, fd);
    pthread_mutex_lock(&lock);
    record(SYNC, inode, 0, NULL, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    return 0;
}
int fsync(int fd) { return sync_fd(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_fd(fd, SYS_fdatasync); }

int mkdir(const char *path, mode_t mode) {
    pthread_mutex_lock(&lock);
    int done = (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
    int error = errno;
    if (done == 0 && below(path)) record_path(MKDIR, inode_at(path), path);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

static int remove_at(int dir, const char *path, int flags) {
    char whole[PATH_MAX];
    if (dir == AT_FDCWD) {
        snprintf(whole, sizeof whole, "%s", path);
    } else {
        char link[64], folder[PATH_MAX / 2];
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
        ssize_t len = readlink(link, folder, sizeof folder - 1);
        if (len < 0) return -1;
        folder[len] = 0;
        snprintf(whole, sizeof whole, "%s/%s", folder, path);
    }
    pthread_mutex_lock(&lock);
    int done = (int)syscall(SYS_unlinkat, dir, path, flags);
    int error = errno;
    if (done == 0 && below(whole)) record_path(flags & AT_REMOVEDIR ? RMDIR : UNLINK, 0, whole);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}
int unlink(const char *path) { return remove_at(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return remove_at(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int dir, const char *path, int flags) { return remove_at(dir, path, flags); }

int rename(const char *from, const char *to) {
    pthread_mutex_lock(&lock);
    int done = (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    int error = errno;
    if (done == 0 && below(to))
        record(RENAME, 0, 0, from, (uint32_t)strlen(from), to, (uint32_t)strlen(to));
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}
