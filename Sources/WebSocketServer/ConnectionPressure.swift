import EventLoop
import LibWebSockets
import Synchronization

/// Connections that a listener had no room for, by cause. Counts them all, and tells of them now and then.
public final class ConnectionPressure: Sendable {
    public enum Cause: String, Sendable, CaseIterable {
        /// As many connections as may be were there, and all were vouched for.
        case full
        /// Its address had its share.
        case share
        /// It came in, and the oldest connection that nobody vouched for went.
        case eviction
        /// The process was out of descriptors.
        case descriptors
    }

    /// What has happened since the last report.
    public struct Report: Sendable {
        public let cause: Cause
        /// How often since the last report of this cause.
        public let count: UInt64
        /// The newest one's address; empty for a Unix socket and ``Cause/descriptors``.
        public let peer: String
    }

    /// How often one cause is told of at most.
    public static let interval = Duration.seconds(30)

    private struct State {
        var counts: [Cause: UInt64] = [:]
        var reported: [Cause: (at: ContinuousClock.Instant, count: UInt64)] = [:]
    }

    private let state = Mutex(State())
    private let report: @Sendable (Report) -> Void

    /// - Parameter report: called on the listener's loop.
    init(report: @escaping @Sendable (Report) -> Void) {
        self.report = report
    }

    func count(_ cause: Cause) -> UInt64 { state.withLock { $0.counts[cause] ?? 0 } }

    func note(_ cause: Cause, peer: PeerAddress?, now: ContinuousClock.Instant = .now) {
        let since: UInt64? = state.withLock { state in
            let count = (state.counts[cause] ?? 0) + 1
            state.counts[cause] = count
            let last = state.reported[cause]
            if let last, now - last.at < Self.interval { return nil }
            state.reported[cause] = (now, count)
            return count - (last?.count ?? 0)
        }
        guard let since else { return }
        report(Report(cause: cause, count: since, peer: peer?.description ?? ""))
    }
}
