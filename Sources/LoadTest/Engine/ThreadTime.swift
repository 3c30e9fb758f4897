import Glibc

/// What a thread has had of the processors so far.
struct ThreadTime: Sendable {
    var cpu = Duration.zero
    /// In which it was ready and waited for one; nil where the kernel does not count that.
    var waiting: Duration?

    /// Of the calling thread.
    static var current: ThreadTime {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return ThreadTime(cpu: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec), waiting: waiting)
    }

    /// Nanoseconds that it ran, that it waited, and how often it ran (sched-stats.rst of the kernel).
    private static var waiting: Duration? {
        let descriptor = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 80)
        let count = read(descriptor, &bytes, bytes.count)
        let fields = bytes.prefix(max(0, count)).split(separator: 0x20)
        guard fields.count == 3 else { return nil }
        return Int64(String(decoding: fields[1], as: UTF8.self)).map { .nanoseconds($0) }
    }
}
