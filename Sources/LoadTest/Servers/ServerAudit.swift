import AdminProtocol
import CallMonitor
import CallVocabulary
import StoreInterface

/// The audit of calls and pushes after a run, with the violations of the run.
struct ServerAudit: Sendable {
    let books: AuditView
    let violations: [String]
    /// Whether there were violations before the run.
    let wasBroken: Bool

    /// From the store of the run's own server.
    init(_ store: StoreAudit) {
        books = AuditView(store.counts, violations: store.violations, overdue: [])
        violations = store.violations
        wasBroken = false
    }

    /// Of a target: violations that are new, or more frequent than before.
    /// - Parameter after: with the overdue pushes of the run only.
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
