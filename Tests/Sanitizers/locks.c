// Makes Swift's Mutex known to ThreadSanitizer. Its fast path is inlined into each module and instrumented. Its slow path
// is in libswiftSynchronization, which is not instrumented: a contended lock would not order memory accesses, and
// ThreadSanitizer would report false races. Loaded by LD_PRELOAD, these functions replace those of the library, call them,
// and add the annotations.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SELF __attribute__((swift_context)) void *
typedef __attribute__((swiftcall)) void (*Lock)(uint32_t thread, SELF);
typedef __attribute__((swiftcall)) void (*Unlock)(SELF);

// Absent in programs without the sanitizer.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

// Synchronization._MutexHandle._lockSlow(UInt32): the lock is held when it returns.
#define LOCK "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
__attribute__((swiftcall)) void lockSlow(uint32_t thread, SELF handle) __asm__(LOCK);
__attribute__((swiftcall)) void lockSlow(uint32_t thread, SELF handle) {
    static Lock next;
    Lock lock = __atomic_load_n(&next, __ATOMIC_RELAXED);
    if (!lock) __atomic_store_n(&next, lock = (Lock)dlsym(RTLD_NEXT, LOCK), __ATOMIC_RELAXED);
    lock(thread, handle);
    if (__tsan_acquire) __tsan_acquire(handle);
}

// Synchronization._MutexHandle._unlockSlow(): the lock is held until it is called.
#define UNLOCK "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
__attribute__((swiftcall)) void unlockSlow(SELF handle) __asm__(UNLOCK);
__attribute__((swiftcall)) void unlockSlow(SELF handle) {
    static Unlock next;
    Unlock unlock = __atomic_load_n(&next, __ATOMIC_RELAXED);
    if (!unlock) __atomic_store_n(&next, unlock = (Unlock)dlsym(RTLD_NEXT, UNLOCK), __ATOMIC_RELAXED);
    if (__tsan_release) __tsan_release(handle);
    unlock(handle);
}
