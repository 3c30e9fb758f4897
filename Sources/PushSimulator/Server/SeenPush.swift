import CallVocabulary

/// A push that was in order, as the simulator took it: for a test that keeps the provider's books.
public struct SeenPush: Equatable, Sendable {
    public var push: AcceptedPush
    public var at: Instant
    /// What goes wrong with it; nil: it is answered with 200 and goes its way.
    public var fault: PushFault.Effect?
}
