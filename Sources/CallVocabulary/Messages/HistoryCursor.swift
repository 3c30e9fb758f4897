/// A place in a user's history, newest first: what follows it began earlier.
public struct HistoryCursor: Equatable, Sendable {
    /// When calls have to have begun before.
    public var before: Instant
    /// The call of that time that the page before ended with: those after it of the same millisecond follow too. nil
    /// leaves all calls of the millisecond out.
    public var call: CallID?

    public init(before: Instant, call: CallID? = nil) {
        self.before = before
        self.call = call
    }
}
