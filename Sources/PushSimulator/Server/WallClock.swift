import CallVocabulary
import Glibc

/// The system's wall clock: expirations and `iat` claims are given in it.
enum WallClock {
    static func now() -> Instant {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Instant(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}
