import CallCore
import CallMonitor
import CallVocabulary
import EventLoop
import Logging
import StoreInterface

/// Passes committed records to the monitor, and loads it: at the start from the recovered state, after feed loss from
/// the store. Confined to the admin loop.
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
    /// The administrators who end calls, for the calls' last log lines. The entry of a call that had already ended
    /// stays here.
    private var administrators: [CallID: String] = [:]
    private static let mostAdministrators = 1024
    /// Batches committed after the state that is being loaded; nil while following. Bounded by the feed.
    private var held: [MonitorFeed.Batch]? = []
    /// The number of loads so far.
    private var load = 0
    /// One load at a time: if the feed is lost during a load, the next load covers all losses.
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

    /// Applies the feed's batches.
    /// - Parameter sleeps: when the feed is empty, it wakes the admin thread for the next batch.
    /// - Returns: false when the feed was empty.
    func catchUp(orSleep sleeps: Bool = false) -> Bool {
        let batches = feed.take(orSleep: sleeps)
        guard !batches.isEmpty else { return false }
        for batch in batches {
            for change in batch.sessions { monitor.apply(change) }
        }
        if held == nil { apply(batches) } else { held? += batches }
        return true
    }

    /// Handles dropped batches. They and the held ones are committed, so a load that begins now contains all of them.
    func feedLost() {
        _ = catchUp()
        feed.done(held ?? [])
        held = []
        for change in feed.resume() { monitor.apply(change) }
        log.warning(
            "the monitor fell behind and reloads all calls", metadata: ["times": .stringConvertible(feed.losses)])
        beginLoad()
    }

    /// - Parameter load: the number of the load; 0 is the recovered state.
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
            log.error("the monitor cannot load the calls", metadata: ["error": .string("\(failure)")])
            let timer = retry ?? LoopTimer(loop: mailbox.loop) { [weak self] in self?.beginLoad() }
            retry = timer
            timer.start(after: Self.retryPause)
        }
    }

    /// Notes that an administrator ends this call.
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
