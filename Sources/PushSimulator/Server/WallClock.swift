import CallVocabulary
import Glibc

/// The system's wall clock, the reference of expirations and `iat` claims.
enum WallClock {
    static func now() -> Instant { Instant(milliseconds: microseconds / 1000) }

    /// Microseconds since the epoch.
    static var microseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
