import CallCore

/// What an audit of a store found.
public struct StoreAudit: Equatable, Sendable {
    public var counts: LedgerCounts
    /// What is wrong, in words, each with the first case; empty when all is well.
    public var violations: [String]

    public init(counts: LedgerCounts, violations: [String]) {
        self.counts = counts
        self.violations = violations
    }
}
