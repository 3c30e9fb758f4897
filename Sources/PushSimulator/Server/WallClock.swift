import CallVocabulary
import FoundationEssentials

/// The system's wall clock, the reference of expirations and `iat` claims.
enum WallClock {
    static func now() -> Instant { Instant(milliseconds: microseconds / 1000) }

    /// Microseconds since the epoch.
    static var microseconds: Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }
}
