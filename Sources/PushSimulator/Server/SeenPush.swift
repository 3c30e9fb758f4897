import CallVocabulary

/// A push that passed all checks, for tests that compare it with the provider's records.
public struct SeenPush: Equatable, Sendable {
    public var push: AcceptedPush
    public var at: Instant
    /// The fault that applies; nil: the push gets 200 and is delivered.
    public var fault: PushFault.Effect?
}
