#include "CAllocations.h"

#include <errno.h>
#include <stddef.h>

// In the program itself, so that it is found without a call, which could ask for memory.
static __thread unsigned long count __attribute__((tls_model("local-exec")));
static __thread unsigned long large_count __attribute__((tls_model("local-exec")));

unsigned long allocations_of_this_thread(void) { return count; }

unsigned long large_allocations_of_this_thread(void) { return large_count; }

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) && !__has_feature(memory_sanitizer)

// glibc's own, by the names it exports them under. `free` stays glibc's: it is given what these have given.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t number, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static void note(size_t size) {
    count++;
    if (size >= LARGE_ALLOCATION) large_count++;
}

void *malloc(size_t size) {
    note(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    // What overflows is not given.
    note(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    note(size);
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    note(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    // As POSIX has it; memalign would round the alignment up.
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    void *found = memalign(alignment, size);
    if (!found) return ENOMEM;
    *memory = found;
    return 0;
}

#endif
