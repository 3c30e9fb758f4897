import Synchronization

/// What has asked a run to end. Any thread.
final class StopSignals: Sendable {
    /// What a signal says by when it comes.
    enum Meaning: Equatable {
        case first
        /// Part of the first: timeout(1) sends on what the terminal has sent to both already.
        case sameBurst
        /// Whoever asks twice does not want to wait.
        case again
    }

    /// Nobody asks twice so soon.
    private static let burst = Duration.milliseconds(500)

    private let taken = Mutex<(signal: Int32, at: ContinuousClock.Instant)?>(nil)

    /// The one that came first; nil before it.
    var first: Int32? { taken.withLock { $0?.signal } }

    /// Takes note of one.
    func take(_ signal: Int32, at now: ContinuousClock.Instant = .now) -> Meaning {
        taken.withLock { taken in
            guard let first = taken else {
                taken = (signal, now)
                return .first
            }
            return first.at.duration(to: now) < Self.burst ? .sameBurst : .again
        }
    }
}
