import AdminProtocol
import CallVocabulary

/// The ledger's books for people.
enum AuditText {
    static func lines(_ audit: AuditView) -> [String] {
        func count(_ status: ProviderStatus) -> Int { audit.provider[status, default: 0] }
        func list(_ parts: [(String, Int)]) -> String {
            parts.map { "\($0.0) \($0.1)" }.joined(separator: " + ")
        }
        let inFlight = count(.sent)
        let sent = count(.accepted) + count(.rejected) + count(.unknown) + inFlight
        let possible = count(.accepted) + count(.unknown) + inFlight
        let lines = [
            "intended \(audit.intended) = "
                + list([
                    ("cancelled", count(.cancelled)), ("expired", count(.expired)), ("sent", sent),
                    ("queued", count(.intended)),
                ]),
            "sent \(sent) = "
                + list([
                    ("accepted", count(.accepted)), ("rejected", count(.rejected)), ("unknown", count(.unknown)),
                    ("in flight", inFlight),
                ]),
            "accepted, unknown or in flight \(possible) = "
                + list(ReportStatus.allCases.map { ($0.rawValue, audit.report[$0, default: 0]) }),
        ]
        let shown = lines.flatMap { $0.wrapped(to: Console.current.width) }
        guard !audit.balanced else { return shown + [Terminal.green("every push is accounted for")] }
        let wrong = audit.violations.map { "BROKEN: \($0.shown)" } + audit.overdue.map(overdue)
        return shown + wrong.flatMap { $0.wrapped(to: Console.current.width) }.map(Terminal.red)
    }

    private static func overdue(_ push: PushView) -> String {
        let waits = push.report == .awaited ? "its report was due" : "its time was over"
        let at = push.report == .awaited ? push.reportDueAt ?? push.expiresAt : push.expiresAt
        return "OVERDUE: push \(push.pushID) to \(PartyText.name(push.user, push.deviceID)) is still "
            + "\(push.status.rawValue); \(waits) \(Moment.full(at.instant))"
    }
}
