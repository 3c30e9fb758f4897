import Glibc

enum ThreadTime {
    /// Linux's RUSAGE_THREAD, a GNU macro that Swift does not import.
    private static let thread = __rusage_who_t(1)

    static func now() -> Duration {
        var usage = rusage()
        getrusage(thread, &usage)
        return duration(usage.ru_utime) + duration(usage.ru_stime)
    }

    private static func duration(_ time: timeval) -> Duration {
        .seconds(time.tv_sec) + .microseconds(time.tv_usec)
    }
}
