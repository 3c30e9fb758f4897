import CallStore
import CallVocabulary
import PushClient
import PushCore

/// What the parts of a server say of themselves, judged: should it be given work?
struct Readiness {
    /// Why commits fail; nil while they succeed.
    var store: StoreFailure?
    /// nil while the core does not run.
    var core: CoreSnapshot?
    var push: PushStatistics

    /// What keeps the server from doing its work, a line each, in words for whoever is woken by it; empty when nothing
    /// does.
    var problems: [String] {
        var problems: [String] = []
        if let store { problems.append("store: \(store)") }
        if let core {
            if core.isDraining { problems.append("draining: this server takes no new calls") }
            problems += core.ledgerViolations.map { "ledger: \($0)" }
        } else {
            problems.append("core: not running")
        }
        for pool in push.pools {
            let apns = "APNs \(pool.environment.rawValue)"
            if pool.queueDepth > 0, pool.openConnections == 0 {
                problems.append("push: \(pool.queueDepth) wait, without a connection to \(apns)")
            }
            if let problem = pool.credential.problem { problems.append("push: \(apns) \(problem)") }
        }
        return problems
    }
}
