import CallCore
import CallVocabulary

/// The ledger's books for people.
enum AuditText {
    static func lines(_ counts: LedgerCounts, violations: [String]) -> [String] {
        func list(_ parts: [(String, Int)]) -> String {
            parts.map { "\($0.0) \($0.1)" }.joined(separator: " + ")
        }
        let possible = counts.count(.accepted) + counts.count(.unknown) + counts.inFlight
        var lines = [
            "intended \(counts.intended) = "
                + list([
                    ("cancelled", counts.count(.cancelled)), ("expired", counts.count(.expired)), ("sent", counts.sent),
                    ("queued", counts.queued),
                ]),
            "sent \(counts.sent) = "
                + list([
                    ("accepted", counts.count(.accepted)), ("rejected", counts.count(.rejected)),
                    ("unknown", counts.count(.unknown)), ("in flight", counts.inFlight),
                ]),
            "accepted, unknown or in flight \(possible) = "
                + list(ReportStatus.allCases.map { ($0.rawValue, counts.count($0)) }),
        ]
        if violations.isEmpty {
            lines.append(Terminal.green("every push is accounted for"))
        } else {
            lines += violations.map { Terminal.red("BROKEN: \($0)") }
        }
        return lines
    }
}
