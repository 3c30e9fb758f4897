import CallCore

/// The result of an audit of a store.
public struct StoreAudit: Equatable, Sendable {
    public var counts: LedgerCounts
    /// Violated rules, as text, each with its first case; empty when there are none.
    public var violations: [String]

    public init(counts: LedgerCounts, violations: [String]) {
        self.counts = counts
        self.violations = violations
    }
}
