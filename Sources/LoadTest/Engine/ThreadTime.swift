import Glibc

/// CPU time of a thread, and its wait for a core.
struct ThreadTime: Sendable {
    var cpu = Duration.zero
    /// Time ready but not running; nil if the kernel does not count it.
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

    /// - Parameter schedstat: nanoseconds of running and of waiting, and a count (the kernel's sched-stats.rst).
    /// - Returns: nil if nothing is counted: a thread that asks has run.
    static func waiting(in schedstat: String) -> Duration? {
        let fields = schedstat.split(whereSeparator: \.isWhitespace).map { Int64($0) }
        guard fields.count == 3, let ran = fields[0], let waited = fields[1], ran > 0 else { return nil }
        return .nanoseconds(waited)
    }
}
