import CallVocabulary
import Foundation

/// The server's clock: the system's time at the start, advanced by the monotonic clock from then on.
///
/// A stepped system clock moves no deadline of a running server. Any thread.
public struct ServerClock: Sendable {
    private let start: Instant
    /// Monotonic: on Linux `CLOCK_MONOTONIC`, which stands still while the machine sleeps.
    private let clock = SuspendingClock()
    private let startedAt: SuspendingClock.Instant

    public init() {
        startedAt = clock.now
        start = Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
    }

    public func now() -> Instant { start + (clock.now - startedAt) }
}
