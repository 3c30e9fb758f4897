import CallCore
import CallMonitor
import CallVocabulary
import EventLoop
import Logging
import StoreInterface

/// Gives the monitor what is committed, and loads it: from what was recovered at the start, from the store when the feed
/// was lost. Confined to the admin loop.
///
///     loading ──loaded──▶ following ──the feed is lost──▶ loading
final class MonitorDriver {
    private static let retryPause = Duration.seconds(1)

    let monitor: CallMonitor
    private let feed: MonitorFeed
    private let reads: AdminReads
    private let mailbox: Mailbox<AdminMessage>
    private let now: @Sendable () -> Instant
    private let log: Logger
    private let callLog: CallLog
    /// Who has asked for the end of which call, for its last line. A call that was over before leaves its entry behind.
    private var administrators: [CallID: String] = [:]
    private static let mostAdministrators = 1024
    /// Batches behind what is being loaded; nil while it follows. The feed bounds them.
    private var held: [MonitorFeed.Batch]? = []
    /// Counts the loads.
    private var load = 0
    /// One at a time: however often the feed is lost meanwhile, what is read next has it all.
    private var isLoading = true
    private var isLoadStale = false
    private var retry: LoopTimer?

    init(feed: MonitorFeed, environment: AdminShard.Environment, mailbox: Mailbox<AdminMessage>) {
        self.feed = feed
        self.mailbox = mailbox
        reads = environment.reads
        now = environment.now
        log = environment.log
        callLog = CallLog(log: environment.log)
        monitor = CallMonitor(now: environment.now())
    }

    /// Takes what the feed has.
    /// - Parameter sleeps: when there is nothing, the feed wakes for the next batch.
    /// - Returns: false when there was nothing.
    func catchUp(orSleep sleeps: Bool = false) -> Bool {
        let batches = feed.take(orSleep: sleeps)
        guard !batches.isEmpty else { return false }
        for batch in batches {
            for change in batch.sessions { monitor.apply(change) }
        }
        if held == nil { apply(batches) } else { held? += batches }
        return true
    }

    /// Batches have been dropped. They are committed, and so are those held, so that what is read from now on has them
    /// all.
    func feedLost() {
        _ = catchUp()
        feed.done(held ?? [])
        held = []
        for change in feed.resume() { monitor.apply(change) }
        log.warning(
            "the live picture cannot keep up and is loaded anew", metadata: ["times": .stringConvertible(feed.losses)])
        beginLoad()
    }

    /// - Parameter load: which one it is; 0 is what was recovered at the start.
    func loaded(_ load: Int, _ result: Result<RecoveredState, any Error>) {
        guard load == self.load else { return }
        isLoading = false
        if isLoadStale { return beginLoad() }
        switch result {
        case .success(let state):
            monitor.reset(with: state)
            let behind = held ?? []
            held = nil
            apply(behind)
        case .failure(let failure):
            log.error("the live picture cannot be loaded", metadata: ["error": .string("\(failure)")])
            let timer = retry ?? LoopTimer(loop: mailbox.loop) { [weak self] in self?.beginLoad() }
            retry = timer
            timer.start(after: Self.retryPause)
        }
    }

    /// An administrator ends this call.
    func administered(_ call: CallID, by administrator: String) {
        if administrators.count >= Self.mostAdministrators { administrators.removeAll() }
        administrators[call] = administrator
    }

    private func beginLoad() {
        retry?.stop()
        if held == nil { held = [] }
        guard !isLoading else {
            isLoadStale = true
            return
        }
        (isLoading, isLoadStale) = (true, false)
        load += 1
        reads.openCalls { [load, mailbox] in mailbox.postAlways(.loaded(load, $0)) }
    }

    private func apply(_ batches: [MonitorFeed.Batch]) {
        feed.done(batches)
        let now = self.now()
        for batch in batches {
            monitor.apply(batch.records, now: now) { transition in
                callLog.write(transition) { administrators.removeValue(forKey: $0) }
            }
        }
        callLog.flush()
    }
}

@available(*, unavailable)
extension MonitorDriver: Sendable {}
