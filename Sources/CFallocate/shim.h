#pragma once
#include <linux/falloc.h>
#include <sys/types.h>

// A GNU extension: glibc has it, but the Glibc module is built without _GNU_SOURCE and so does not declare it.
extern int fallocate(int file, int mode, off_t offset, off_t length);
