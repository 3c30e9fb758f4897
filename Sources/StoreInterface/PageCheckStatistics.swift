/// What looking at the pages of a store has found since the start of a ``RecordLog``.
public struct PageCheckStatistics: Equatable, Sendable {
    /// Passes over the whole database that came to their end.
    public package(set) var passes: UInt64 = 0
    /// What the last pass found damaged; nil when nothing was, and before the first.
    public package(set) var damage: StoreFailure?

    public init() {}
}
