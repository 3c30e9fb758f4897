/// The results of page checks since the start of a ``RecordLog``.
public struct PageCheckStatistics: Equatable, Sendable {
    /// Completed passes over the whole database.
    public package(set) var passes: UInt64 = 0
    /// The damage found by the last pass; nil without damage, and before the first pass.
    public package(set) var damage: StoreFailure?

    public init() {}
}
