import AdminProtocol
import CallMonitor
import CallVocabulary
import EventLoop

/// The sources of figures outside the monitor.
struct FigureSources: Sendable {
    /// Requests the core's figures; the completion gets nil when the core does not run. It is called once, on any
    /// thread.
    let askCore: @Sendable (@escaping @Sendable (CoreSnapshot?) -> Void) -> Void
    /// Combines the figures.
    let gather: @Sendable (CoreSnapshot?, LiveFigures, Instant) -> StatsView
}

/// The monitor's part of the figures.
struct LiveFigures: Sendable {
    var calls: RecentCalls
    var liveCalls: Int
    var sessionsOnline: Int
    var sessionsAway: Int
    var stages: StageLatencies
    var feedWaiting: Int
    var feedCapacity: Int
    var feedLosses: UInt64
}

/// Answers requests for figures. The core is asked at most once a second. Confined to the admin loop.
final class FigureSubscriptions {
    private static let snapshotAge = Duration.seconds(1)

    private let monitor: CallMonitor
    private let feed: MonitorFeed
    private let sources: FigureSources
    private let clock: ServerClock
    private let mailbox: Mailbox<AdminMessage>
    private var snapshot: (core: CoreSnapshot?, at: Instant)?
    private var isAsked = false
    private var waiting: [(StatsView) -> Void] = []

    init(
        monitor: CallMonitor, feed: MonitorFeed, sources: FigureSources, clock: ServerClock,
        mailbox: Mailbox<AdminMessage>
    ) {
        self.monitor = monitor
        self.feed = feed
        self.sources = sources
        self.clock = clock
        self.mailbox = mailbox
    }

    /// The number of requests that wait for the core's answer.
    var pending: Int { waiting.count }

    /// - Parameter completion: called on the loop, at once or later.
    func get(_ completion: @escaping (StatsView) -> Void) {
        let now = clock.now()
        if let snapshot, now - snapshot.at < Self.snapshotAge { return completion(view(now)) }
        waiting.append(completion)
        guard !isAsked else { return }
        isAsked = true
        sources.askCore { [mailbox] snapshot in mailbox.postAlways(.coreFigures(snapshot)) }
    }

    func take(_ core: CoreSnapshot?) {
        let now = clock.now()
        snapshot = (core, now)
        isAsked = false
        let waiting = self.waiting
        self.waiting = []
        guard !waiting.isEmpty else { return }
        let view = view(now)
        for completion in waiting { completion(view) }
    }

    private func view(_ now: Instant) -> StatsView {
        sources.gather(snapshot?.core, live(), now)
    }

    /// The monitor's part of the figures.
    func live() -> LiveFigures {
        let now = clock.now()
        return LiveFigures(
            calls: monitor.recentCalls(now: now), liveCalls: monitor.liveCalls, sessionsOnline: monitor.sessionsOnline,
            sessionsAway: monitor.sessionsAway, stages: monitor.stages, feedWaiting: feed.waiting,
            feedCapacity: feed.capacity, feedLosses: feed.losses)
    }
}

@available(*, unavailable)
extension FigureSubscriptions: Sendable {}
