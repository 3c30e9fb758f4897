import Glibc

/// The current time, and this process's CPU time so far.
struct OwnUsage {
    private let at: ContinuousClock.Instant
    private let usage: rusage

    static func now() -> OwnUsage {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return OwnUsage(at: .now, usage: usage)
    }

    static var threadSeconds: Double { seconds(of: CLOCK_THREAD_CPUTIME_ID) }

    /// The exact CPU time of this process; `getrusage` may be some milliseconds behind.
    static var processSeconds: Double { seconds(of: CLOCK_PROCESS_CPUTIME_ID) }

    static func seconds(of clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
    }

    func sample(until end: OwnUsage, count: Int) -> Sample {
        Sample(
            count: count, seconds: at.duration(to: end.at) / .seconds(1),
            userSeconds: end.usage.ru_utime.seconds - usage.ru_utime.seconds,
            systemSeconds: end.usage.ru_stime.seconds - usage.ru_stime.seconds)
    }
}

extension timeval {
    fileprivate var seconds: Double { Double(tv_sec) + Double(tv_usec) / 1_000_000 }
}
