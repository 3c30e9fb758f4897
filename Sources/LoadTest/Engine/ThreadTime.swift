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

    private static var waiting: Duration? {
        let descriptor = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 80)
        let count = read(descriptor, &bytes, bytes.count)
        return waiting(in: String(decoding: bytes.prefix(max(0, count)), as: UTF8.self))
    }

    /// - Parameter schedstat: nanoseconds that a thread ran, that it waited, and how often it ran (sched-stats.rst of the
    ///   kernel).
    /// - Returns: nil where nothing is counted: no thread that asks has not run.
    static func waiting(in schedstat: String) -> Duration? {
        let fields = schedstat.split(whereSeparator: \.isWhitespace).map { Int64($0) }
        guard fields.count == 3, let ran = fields[0], let waited = fields[1], ran > 0 else { return nil }
        return .nanoseconds(waited)
    }
}
