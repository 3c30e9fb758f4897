import CLibUV
import Glibc

/// What a loop is woken by, from any thread: an eventfd(2).
///
/// It takes the place of libuv's `uv_async_t`. With that a thread that is woken turns round and round until the one that
/// woke it is back from its system call, then gives its processor up (`uv__async_spin` of libuv 1.44). Where there are few
/// processors, the kernel often runs the one that is woken in the other's place: it spun for some 50 µs, and came back
/// milliseconds later.
struct WakeUp: ~Copyable, Sendable {
    /// Ready to be read from after ``ring()``, until ``clear()``.
    let descriptor: Int32

    /// - Throws: ``SystemError`` when the process is out of descriptors.
    init() throws {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard descriptor >= 0 else { throw SystemError(operation: "eventfd", errno: errno) }
    }

    deinit { close(descriptor) }

    func ring() {
        var once: UInt64 = 1
        // It fails at 2^64 - 1 only.
        _ = write(descriptor, &once, 8)
    }

    func clear() {
        var rings: UInt64 = 0
        // It fails where nobody has rung.
        _ = read(descriptor, &rings, 8)
    }
}
