import CallVocabulary
import Glibc

/// The server's clock: the system's time at the start, advanced by the monotonic clock from then on.
///
/// A stepped system clock moves no deadline of a running server. Any thread.
public struct ServerClock: Sendable {
    /// Wall time less monotonic time, in nanoseconds.
    private let offset: Int64

    public init() {
        offset = Self.nanoseconds(CLOCK_REALTIME) - Self.nanoseconds(CLOCK_MONOTONIC)
    }

    public func now() -> Instant {
        Instant(milliseconds: (Self.nanoseconds(CLOCK_MONOTONIC) + offset) / 1_000_000)
    }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
