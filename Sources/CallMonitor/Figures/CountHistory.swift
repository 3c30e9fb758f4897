import CallVocabulary

/// Counters since the start as they were in the last quarter of an hour, for increases over a time, as Prometheus
/// computes them. Memory use is bounded.
public struct CountHistory: Equatable, Sendable {
    public enum Counter: Hashable, Sendable {
        case sessionsAsked, sessionsRefused
        case callsEnded, callsEndedWith(EndReason)
        /// Of the latter, those of one caller.
        case callsOfOneCaller(EndReason)
        /// Times from the invite to the first ring, and those above ``ServerFacts/longestRing``.
        case rings, slowRings
        case commits, slowCommits, storeFailures
        /// Commits that surely took longer than ``ServerFacts/longestCommit``.
        case hungCommits
        case coreRefused, connectionsEvicted, devicesSuspended, clockSteps, suspensions, logLinesDropped
        /// Connections beyond the limit, where all others have a session.
        case connectionsShutOut
        /// New calls refused by an overloaded server.
        case callsRefused
        /// How often no connection could be accepted, for want of descriptors or memory.
        case acceptPauses
        /// Pushes to a provider that have ended, and those that it is at fault for: see ``ServerFacts/Pool``.
        case pushesEnded(String), pushesFailed(String)
        /// Questions to the backend at `authorize.url`, those without an answer, and those of one user among the latter.
        case authorizationsAsked, authorizationsFailed, authorizationsOfOneUser
        case limit(String)
        /// Milliseconds in which a thread was busy.
        case busy(String)
    }

    public typealias Counts = [Counter: UInt64]

    private struct Sample: Equatable {
        let at: Instant
        let counts: Counts
    }

    /// The least time between two samples, and the time that they cover.
    static let spacing = Duration.seconds(30)
    public static let span = Duration.seconds(15 * 60)

    private let start: Instant
    /// The oldest first: one that is older than ``span``, and younger ones.
    private var samples: [Sample] = []

    /// - Parameter start: when all counters were 0.
    public init(start: Instant) { self.start = start }

    /// Keeps the counters for later, unless the last ones are as recent as ``spacing``.
    public mutating func add(_ counts: Counts, at now: Instant) {
        if let last = samples.last, now - last.at < Self.spacing { return }
        samples.append(Sample(at: now, counts: counts))
        while samples.count > 1, now - samples[1].at >= Self.span { samples.removeFirst() }
    }

    /// How much the counters have grown in at least `window`, or since the start if that is more recent, and the time
    /// that it took.
    func growth(to counts: Counts, over window: Duration, at now: Instant) -> (counts: Counts, time: Duration) {
        guard let base = samples.last(where: { now - $0.at >= window }) else { return (counts, now - start) }
        let grown = counts.map { counter, count in
            let before = base.counts[counter] ?? 0
            return (counter, count > before ? count - before : 0)
        }
        return (Counts(uniqueKeysWithValues: grown), now - base.at)
    }

    /// How much a counter has grown at least since another one last grew.
    func growth(of counter: Counter, to counts: Counts, since other: Counter) -> UInt64 {
        guard let base = samples.first(where: { $0.counts[other] ?? 0 == counts[other] ?? 0 }) else { return 0 }
        let (before, count) = (base.counts[counter] ?? 0, counts[counter] ?? 0)
        return count > before ? count - before : 0
    }
}
