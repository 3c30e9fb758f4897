/// What is known of the server's books after a run.
public enum AuditState: String, CaseIterable, Sendable {
    /// They were audited, and every law holds.
    case balanced
    /// They were audited; laws were broken before the run, and none since.
    case brokenBefore = "broken_before"
    /// A law is broken.
    case broken
    /// Nobody could audit them; the push ledger's laws hold, by the server's metrics.
    case ledgerOnly = "ledger_only"
    /// Nobody could read any of them.
    case notRead = "not_read"

    /// The same in words, for the end of a sentence.
    public var words: String {
        switch self {
        case .balanced: "the books balance"
        case .brokenBefore: "the books did not balance before the run either, and nothing else was broken"
        case .broken: "the books do not balance"
        case .ledgerOnly: "the push ledger's laws hold by the server's own word, and nobody audited its books"
        case .notRead: "nobody has read the books"
        }
    }
}
