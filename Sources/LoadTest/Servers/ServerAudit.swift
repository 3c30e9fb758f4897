import AdminProtocol
import CallMonitor
import CallStore
import CallVocabulary

/// The server's books after a run, and what the run has broken in them.
struct ServerAudit: Sendable {
    let books: AuditView
    /// What is wrong, in words.
    let violations: [String]
    /// Whether something was wrong before the run.
    let wasBroken: Bool

    /// Of a server that had the run to itself, from its store.
    init(_ store: StoreAudit) {
        books = AuditView(store.counts, violations: store.violations, overdue: [])
        violations = store.violations
        wasBroken = false
    }

    /// Of a server that others use as well.
    init(before: AuditView, after: AuditView) {
        books = after
        let late = Set(before.overdue.map(\.pushID))
        violations =
            after.violations.filter { !before.violations.contains($0) }
            + after.overdue.filter { !late.contains($0.pushID) }.map {
                "push \($0.pushID) to \($0.user) is still \($0.status.rawValue), past its time"
            }
        wasBroken = !before.balanced
    }
}
