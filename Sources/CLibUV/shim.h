#pragma once
#include <sys/timerfd.h>
#include <uv.h>

// GNU extensions: glibc has them, but the Glibc module is built without _GNU_SOURCE and so does not declare them.
extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);
extern int pthread_setname_np(pthread_t thread, const char *name);
