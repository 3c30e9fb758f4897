#pragma once
#include <linux/falloc.h>
#include <linux/memfd.h>
#include <spawn.h>
#include <sys/types.h>

// GNU extensions: glibc has them, but the Glibc module is built without _GNU_SOURCE and so does not declare them.
extern int fallocate(int file, int mode, off_t offset, off_t length);
extern int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *folder);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int first);
extern int pipe2(int ends[2], int flags);
extern int memfd_create(const char *name, unsigned int flags);

#include <stdint.h>
#include <time.h>

// Here, because which Swift module declares `timespec` depends on what else a target imports.
static inline int64_t reveille_clock_milliseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}
