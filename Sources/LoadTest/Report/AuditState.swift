/// The result of the audit of calls and pushes after a run.
public enum AuditState: String, CaseIterable, Sendable {
    /// No violation.
    case balanced
    /// Violations before the run, and no new one.
    case brokenBefore = "broken_before"
    /// A violation.
    case broken
    /// No audit; the server's metrics show no violation of the push ledger.
    case ledgerOnly = "ledger_only"
    /// Neither an audit nor metrics.
    case notRead = "not_read"

    /// For the end of a sentence.
    public var words: String {
        switch self {
        case .balanced: "the audit found no violation"
        case .brokenBefore: "the audit found only violations from before the run"
        case .broken: "the audit found violations"
        case .ledgerOnly: "the server's metrics show no violation of the push ledger, and nothing else was audited"
        case .notRead: "nothing was audited"
        }
    }
}
