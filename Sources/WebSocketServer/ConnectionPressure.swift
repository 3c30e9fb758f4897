import EventLoop
import LibWebSockets
import Synchronization

/// Counts connections without room, and requests without a client's address, by cause, and reports them at a limited
/// rate.
public final class ConnectionPressure: Sendable {
    public enum Cause: String, Sendable, CaseIterable {
        /// The limit was reached, and all connections were vouched for.
        case full
        /// The limit for the address was reached.
        case share
        /// The rate of new connections of the address was reached.
        case rate
        /// The connection was accepted, and the oldest unvouched one was evicted.
        case eviction
        /// The process ran out of descriptors.
        case descriptors
        /// A trusted proxy's `X-Forwarded-For` has an entry that is no address: its client has no limit by address.
        case unreadable
        /// A trusted proxy passes WebSockets on without `X-Forwarded-For`: their clients have no limit by address.
        case unforwarded
    }

    /// The events of one cause since its last report.
    public struct Report: Sendable {
        public let cause: Cause
        /// How often since the last report of this cause.
        public let count: UInt64
        /// The address of the newest connection; empty for a Unix socket and ``Cause/descriptors``.
        public let peer: String
        /// What could not be read; nil for another cause.
        public let detail: String?
    }

    /// The shortest interval between reports of one cause.
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

    func note(
        _ cause: Cause, peer: PeerAddress?, detail: String? = nil, now: ContinuousClock.Instant = .now
    ) {
        let since: UInt64? = state.withLock { state in
            let count = (state.counts[cause] ?? 0) + 1
            state.counts[cause] = count
            let last = state.reported[cause]
            if let last, now - last.at < Self.interval { return nil }
            state.reported[cause] = (now, count)
            return count - (last?.count ?? 0)
        }
        guard let since else { return }
        report(Report(cause: cause, count: since, peer: peer?.description ?? "", detail: detail))
    }
}
