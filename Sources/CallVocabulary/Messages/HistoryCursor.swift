/// A position in a user's history, newest first: calls after it began earlier.
public struct HistoryCursor: Equatable, Sendable {
    /// Calls after the position began before this time.
    public var before: Instant
    /// The last call of the previous page: calls of the same millisecond that sort after it follow too. nil excludes
    /// all calls of that millisecond.
    public var call: CallID?

    public init(before: Instant, call: CallID? = nil) {
        self.before = before
        self.call = call
    }
}
