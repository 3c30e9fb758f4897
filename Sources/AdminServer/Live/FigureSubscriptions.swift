import AdminProtocol
import CallMonitor
import CallVocabulary
import EventLoop

/// The sources of figures outside the monitor.
package struct FigureSources: Sendable {
    /// Combines the core's figures, as of the request, with those of the monitor and the other parts.
    package typealias Gather = @Sendable (LiveFigures, Instant) -> StatsView

    /// Requests the core's figures. Calls the completion once, on any thread.
    let askCore: @Sendable (@escaping @Sendable (@escaping Gather) -> Void) -> Void

    package init(askCore: @escaping @Sendable (@escaping @Sendable (@escaping Gather) -> Void) -> Void) {
        self.askCore = askCore
    }
}

/// The monitor's part of the figures.
package struct LiveFigures: Sendable {
    package var calls: RecentCalls
    package var liveCalls: Int
    package var sessionsOnline: Int
    package var sessionsAway: Int
    package var stages: StageLatencies
    package var feedWaiting: Int
    package var feedCapacity: Int
    package var feedLosses: UInt64
}

/// Answers requests for figures. The core is asked at most once a second. Confined to the admin loop.
final class FigureSubscriptions {
    private static let snapshotAge = Duration.seconds(1)

    private let monitor: CallMonitor
    private let feed: MonitorFeed
    private let sources: FigureSources
    private let now: @Sendable () -> Instant
    private let mailbox: Mailbox<AdminMessage>
    private var snapshot: (gather: FigureSources.Gather, at: Instant)?
    private var isAsked = false
    private var waiting: [(StatsView) -> Void] = []

    init(
        monitor: CallMonitor, feed: MonitorFeed, sources: FigureSources, now: @escaping @Sendable () -> Instant,
        mailbox: Mailbox<AdminMessage>
    ) {
        self.monitor = monitor
        self.feed = feed
        self.sources = sources
        self.now = now
        self.mailbox = mailbox
    }

    /// - Parameter completion: called on the loop, at once or later.
    func get(_ completion: @escaping (StatsView) -> Void) {
        let now = self.now()
        if let snapshot, now - snapshot.at < Self.snapshotAge { return completion(snapshot.gather(live(), now)) }
        waiting.append(completion)
        guard !isAsked else { return }
        isAsked = true
        sources.askCore { [mailbox] gather in mailbox.postAlways(.coreFigures(gather)) }
    }

    func take(_ gather: @escaping FigureSources.Gather) {
        let now = self.now()
        snapshot = (gather, now)
        isAsked = false
        let waiting = self.waiting
        self.waiting = []
        guard !waiting.isEmpty else { return }
        let view = gather(live(), now)
        for completion in waiting { completion(view) }
    }

    /// The monitor's part alone.
    func live() -> LiveFigures {
        let now = self.now()
        return LiveFigures(
            calls: monitor.recentCalls(now: now), liveCalls: monitor.liveCalls, sessionsOnline: monitor.sessionsOnline,
            sessionsAway: monitor.sessionsAway, stages: monitor.stages, feedWaiting: feed.waiting,
            feedCapacity: feed.capacity, feedLosses: feed.losses)
    }
}

@available(*, unavailable)
extension FigureSubscriptions: Sendable {}
