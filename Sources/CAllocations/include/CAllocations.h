#pragma once

// Linked into a program, this target takes the place of glibc's malloc and of what is like it: each call is counted and
// handed on to glibc. Calls from shared libraries, Swift's own among them, come here as well.

// How often the calling thread has asked for memory since it began: malloc, calloc, realloc, aligned_alloc, memalign and
// posix_memalign. Always 0 in a build with a sanitizer, which has a malloc of its own.
unsigned long allocations_of_this_thread(void);

// From so many bytes on an allocation is large: what a message carries may be, a closure or a box is not.
#define LARGE_ALLOCATION 256

// How many of these were large.
unsigned long large_allocations_of_this_thread(void);
