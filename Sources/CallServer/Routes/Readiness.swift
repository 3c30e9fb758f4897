import CallVocabulary
import PushClient
import PushCore
import StoreInterface

/// What the parts of a server say of themselves, judged: should it be given work?
struct Readiness {
    /// Why commits fail; nil while they succeed.
    var store: StoreFailure?
    /// Since when the oldest commit waits; nil when none does.
    var commitSince: ContinuousClock.Instant? = nil
    /// What looking at the pages of the store has found damaged.
    var damage: StoreFailure? = nil
    /// nil while the core does not run.
    var core: CoreSnapshot?
    var push: PushStatistics
    /// On the timeline, as what the parts say.
    var now: Instant
    /// By the system clock, as certificates end.
    var date: Instant

    /// How long a push may wait with a connection there before somebody should look; a ring is 45 s.
    static let longestWait = Duration.seconds(10)
    /// How long refusals count: a server that is given no work for them hears of none that is accepted.
    static let refusalsCount = Duration.seconds(600)

    /// What keeps the server from doing its work, a line each, in words for whoever is woken by it; empty when nothing
    /// does.
    var problems: [String] {
        var problems: [String] = []
        if let store { problems.append("store: \(store)") }
        if store == nil, let since = commitSince, since.duration(to: .now) > StoreStall.patience {
            let seconds = since.duration(to: .now).wholeMilliseconds / 1000
            problems.append("store: a commit has waited for \(seconds) s: the disk does not answer")
        }
        if let damage { problems.append("store: \(damage)") }
        if let core {
            if core.isDraining { problems.append("draining: this server takes no new calls") }
            problems += core.ledgerViolations.map { "ledger: \($0)" }
        } else {
            problems.append("core: not running")
        }
        for pool in push.pools {
            // Those that are held have no use for a connection yet.
            let waiting = pool.queueDepth - pool.held
            if waiting > 0, pool.openConnections == 0 {
                problems.append("push: \(waiting) waiting, without a connection to \(pool.name)")
            } else if let since = pool.oldestWaiting, now - since > Self.longestWait {
                problems.append(
                    "push: \(waiting) waiting for \(pool.name), the oldest for \((now - since).wholeMilliseconds / 1000) s"
                )
            }
            if let problem = pool.credential.problem(advice: pool.advice) {
                problems.append("push: \(pool.name) \(problem)")
            }
            // A topic alone may be one that a client has made up.
            if let last = pool.allRefusedAt, now - last < Self.refusalsCount {
                problems += pool.suspectTopics.map { "push: \(pool.name) \($0.problem)" }
            }
            if let problem = pool.expiryProblem(now: date) { problems.append("push: \(pool.name): \(problem)") }
        }
        return problems
    }
}
