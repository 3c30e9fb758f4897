import AdminProtocol
import CallVocabulary

/// The audit of the push ledger, as text.
enum AuditText {
    static func lines(_ audit: AuditView) -> [String] {
        let shown = audit.sums.flatMap { $0.wrapped(to: Console.current.width) }
        guard !audit.balanced else { return shown + [Terminal.green("every push is accounted for")] }
        let wrong = audit.violations.map { "BROKEN: \($0.shown)" } + audit.overdue.map(overdue)
        return shown + wrong.flatMap { $0.wrapped(to: Console.current.width) }.map(Terminal.red)
    }

    private static func overdue(_ push: PushView) -> String {
        let waits = push.report == .awaited ? "its report was due" : "its time was over"
        let at = push.report == .awaited ? push.reportDueAt ?? push.expiresAt : push.expiresAt
        return "OVERDUE: push \(push.pushID) to \(PartyText.name(push.user, push.deviceID)) is still "
            + "\(push.status.rawValue); \(waits) \(Moment.full(at.instant, isOpen: true))"
    }
}
