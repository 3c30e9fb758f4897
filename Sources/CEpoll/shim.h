#pragma once
// epoll(7), which the Glibc module leaves out.
#include <sys/epoll.h>
