import AdminProtocol
import CallMonitor
import CallVocabulary
import StoreInterface

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

    /// Of a server that others use as well: what is broken now that was not before, or more often than before.
    /// - Parameter after: of what is overdue, it tells what was intended since the run began.
    init(before: AuditView, after: AuditView) {
        books = after
        let late = Set(before.overdue.map(\.pushID))
        let known = Dictionary(before.violations.map { BrokenRule($0) }.map { ($0.name, $0.count) }) { $0 + $1 }
        violations =
            after.violations.compactMap { text in
                let rule = BrokenRule(text)
                guard let count = known[rule.name] else { return text }
                return rule.count > count ? "\(text) (\(count) before the run)" : nil
            }
            + after.overdue.filter { !late.contains($0.pushID) }.map {
                "push \($0.pushID) to \($0.user) is still \($0.status.rawValue), past its time"
            }
        wasBroken = !before.balanced
    }
}
