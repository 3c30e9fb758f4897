import CallVocabulary

/// A push that passed all checks, for tests that compare it with the provider's records.
public struct SeenPush: Equatable, Sendable {
    public var push: AcceptedPush
    public var at: Instant
    /// The fault that applies; nil: the push gets 200 and is delivered.
    public var fault: PushFault.Effect?
}

/// A push to a browser that passed all checks of the push service.
public struct SeenWebPush: Equatable, Sendable {
    public var push: AcceptedWebPush
    public var at: Instant
    /// The fault that applies; nil: the push gets 201 and is delivered.
    public var fault: PushFault.Effect?
}
