import CallVocabulary
import PostgresStore
import PushClient
import PushCore
import StoreInterface

/// Decides by the state of all parts whether the server is ready.
struct Readiness {
    /// Why commits fail; nil while they succeed.
    var store: StoreFailure?
    /// False when the lease of a realm's home may have ended; its holder may not have noticed yet. True without a realm.
    var isLeaseHeld = true
    /// Since when the oldest commit waits; nil when none waits.
    var commitSince: ContinuousClock.Instant? = nil
    /// What holds the store, for people: disk or database.
    var storage = "disk"
    /// Damage found by the store's page checks.
    var damage: StoreFailure? = nil
    /// nil while the core does not run.
    var core: CoreSnapshot?
    var push: PushStatistics
    /// On the timeline, like the times of the parts.
    var now: Instant
    /// By the system clock, for the expiry of certificates.
    var date: Instant

    /// How long a push may wait while there is a connection; a call rings for 45 s.
    static let longestWait = Duration.seconds(10)
    /// How long refusals make the server unready: an unready server gets no pushes whose acceptance would clear them.
    static let refusalsCount = Duration.seconds(600)

    /// The reasons why the server is not ready, one line each, for the operator; empty when it is ready.
    var problems: [String] {
        var problems: [String] = []
        if let store { problems.append("store: \(store)") }
        if store == nil, !isLeaseHeld {
            problems.append("store: the lease has run out; another server may be the realm's home")
        }
        if store == nil, let since = commitSince, since.duration(to: .now) > StoreStall.patience {
            let seconds = since.duration(to: .now).wholeMilliseconds / 1000
            problems.append("store: a commit has waited for \(seconds) s: the \(storage) does not answer")
        }
        if let damage { problems.append("store: \(damage)") }
        if let core {
            if core.isDraining { problems.append("draining: this server takes no new calls") }
            problems += core.ledgerViolations.map { "ledger: \($0)" }
        } else {
            problems.append("core: not running")
        }
        for pool in push.pools {
            for line in pool.lines {
                // Held pushes need no connection yet.
                let waiting = line.waiting
                if waiting > 0, line.openConnections == 0 {
                    problems.append("push: \(waiting) waiting, without a connection to \(line.name)")
                } else if let since = line.oldestWaiting, now - since > Self.longestWait {
                    problems.append(
                        "push: \(waiting) waiting for \(line.name), the oldest for "
                            + "\((now - since).wholeMilliseconds / 1000) s")
                }
            }
            if let problem = pool.credential.problem(advice: pool.advice) {
                problems.append("push: \(pool.name) \(problem)")
            }
            // A suspect topic alone does not count: a client may have invented it.
            if let last = pool.allRefusedAt, now - last < Self.refusalsCount {
                problems += pool.suspectTopics.map { "push: \(pool.name) \($0.problem)" }
            }
            if let problem = pool.expiryProblem(now: date) { problems.append("push: \(pool.name): \(problem)") }
        }
        return problems
    }
}

extension Readiness {
    /// Of a running server, at this moment.
    init(of parts: ServerParts, core: CoreSnapshot?, push: PushStatistics, now: Instant) {
        let (log, lease) = (parts.store.recordLog, parts.store.homeLease)
        self.init(
            store: log.failure, isLeaseHeld: lease?.term.isHeld ?? true, commitSince: log.waitingSince,
            storage: lease == nil ? "disk" : "database", damage: log.pages.damage, core: core, push: push, now: now,
            date: parts.clock.wallTime())
    }
}
