// Simulates disk faults in a server, loaded by LD_PRELOAD. Compile with: cc -shared -fPIC -O1 -o faults.so faults.c
//
// The environment variable FAULTS names a file of 4096 bytes, which the drill changes while the server runs. It has one
// line: the fault, the time at which it begins (CLOCK_MONOTONIC, in seconds), and the path of the file. A path that ends
// with '/' means each file in that folder. An empty line means no fault.
//
//   full         writes, and opens that create a file, fail with ENOSPC; a write first writes half of its bytes
//   read-only    writes, and opens for writing, fail with EROFS
//   sync-fails   fsync and fdatasync fail with EIO
//   stalls       writes and syncs block while the disk stalls: repeatedly for 5 s, with 2 s between
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum fault { NONE, FULL, READ_ONLY, SYNC_FAILS, STALLS };
static const char *const names[] = {"", "full", "read-only", "sync-fails", "stalls"};
static const double stall = 5, pause_between = 2;
static const volatile char *control;

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("FAULTS");
    int descriptor = path ? NEXT(open)(path, O_RDONLY | O_CLOEXEC) : -1;
    void *memory = descriptor < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) {
        fprintf(stderr, "faults: FAULTS names no file of 4096 bytes\n");
        abort();
    }
    control = memory;
}

// The fault that the file at `path` has now.
static enum fault fault_of(const char *path, double *since) {
    if (!control || !control[0]) return NONE;
    char line[4096], name[32], target[PATH_MAX];
    memcpy(line, (const char *)control, sizeof line);
    line[sizeof line - 1] = 0;
    if (sscanf(line, "%31s %lf %4095s", name, since, target) != 3) return NONE;
    size_t length = strlen(target), whole = strlen(path);
    int is_meant = target[length - 1] == '/' ? strncmp(path, target, length) == 0
                                             : whole == length && strcmp(path, target) == 0;
    for (int fault = FULL; is_meant && fault <= STALLS; fault++)
        if (strcmp(name, names[fault]) == 0) return fault;
    return NONE;
}

static enum fault fault_at(int descriptor, double *since) {
    if (!control || !control[0]) return NONE;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return NONE;
    path[length] = 0;
    return fault_of(path, since);
}

static void wait_for_disk(double since) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double age = now.tv_sec + now.tv_nsec / 1e9 - since;
    double rest = stall - (age - (int64_t)(age / (stall + pause_between)) * (stall + pause_between));
    if (age < 0 || rest <= 0) return;
    struct timespec time = {(time_t)rest, (long)((rest - (time_t)rest) * 1e9)};
    while (nanosleep(&time, &time) != 0) {}
}

// Returns the error of a write to the file; 0 when it proceeds.
static int write_fault(int descriptor) {
    double since = 0;
    switch (fault_at(descriptor, &since)) {
    case FULL: return ENOSPC;
    case READ_ONLY: return EROFS;
    case STALLS: wait_for_disk(since);  // fall through
    case NONE: case SYNC_FAILS: return 0;
    }
    return 0;
}

#define FAIL(error) do { errno = (error); return -1; } while (0)

ssize_t write(int descriptor, const void *bytes, size_t count) {
    int fault = write_fault(descriptor);
    if (fault == ENOSPC && count > 1) return NEXT(write)(descriptor, bytes, count / 2);
    if (fault) FAIL(fault);
    return NEXT(write)(descriptor, bytes, count);
}

#define PWRITE(name, offset_type)                                                          \
    ssize_t name(int descriptor, const void *bytes, size_t count, offset_type offset) {    \
        int fault = write_fault(descriptor);                                               \
        if (fault == ENOSPC && count > 1) return NEXT(name)(descriptor, bytes, count / 2, offset); \
        if (fault) FAIL(fault);                                                            \
        return NEXT(name)(descriptor, bytes, count, offset);                               \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define WRITEV(name, offset_type)                                                           \
    ssize_t name(int descriptor, const struct iovec *parts, int count, offset_type offset) { \
        int fault = write_fault(descriptor);                                                \
        if (fault) FAIL(fault);                                                             \
        return NEXT(name)(descriptor, parts, count, offset);                                \
    }
WRITEV(pwritev, off_t)
WRITEV(pwritev64, off64_t)

#define SYNC(name)                                   \
    int name(int descriptor) {                       \
        double since = 0;                            \
        enum fault fault = fault_at(descriptor, &since); \
        if (fault == SYNC_FAILS) FAIL(EIO);          \
        if (fault == STALLS) wait_for_disk(since);   \
        return NEXT(name)(descriptor);               \
    }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name, offset_type)                  \
    int name(int descriptor, offset_type length) {   \
        int fault = write_fault(descriptor);         \
        if (fault) FAIL(fault);                      \
        return NEXT(name)(descriptor, length);       \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

#define ALLOCATE(name, offset_type)                                               \
    int name(int descriptor, int mode, offset_type offset, offset_type length) {  \
        int fault = write_fault(descriptor);                                      \
        if (fault) FAIL(fault);                                                   \
        return NEXT(name)(descriptor, mode, offset, length);                      \
    }
ALLOCATE(fallocate, off_t)
ALLOCATE(fallocate64, off64_t)

// Returns the error of an open; 0 when it proceeds. Faults never apply to a relative path.
static int open_fault(const char *path, int flags) {
    double since = 0;
    enum fault fault = fault_of(path, &since);
    int is_new = (flags & O_CREAT) && access(path, F_OK) != 0;
    if (fault == FULL && is_new) return ENOSPC;
    if (fault == READ_ONLY && (is_new || (flags & O_ACCMODE) != O_RDONLY)) return EROFS;
    return 0;
}

#define MODE(flags) ({ va_list rest; va_start(rest, flags); mode_t mode = va_arg(rest, mode_t); va_end(rest); mode; })
#define OPEN(name)                                                                    \
    int name(const char *path, int flags, ...) {                                      \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? MODE(flags) : 0;              \
        int fault = open_fault(path, flags);                                          \
        if (fault) FAIL(fault);                                                       \
        return NEXT(name)(path, flags, mode);                                         \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                  \
    int name(int folder, const char *path, int flags, ...) {                          \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? MODE(flags) : 0;              \
        int fault = open_fault(path, flags);                                          \
        if (fault) FAIL(fault);                                                       \
        return NEXT(name)(folder, path, flags, mode);                                 \
    }
OPENAT(openat)
OPENAT(openat64)
