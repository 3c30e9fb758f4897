import CallVocabulary
import PushVocabulary

/// What the push path tells the call core.
public enum PushEvent: Equatable, Sendable {
    /// The push may be sent now: look once more, then ``PushService/transmit(_:)`` or ``PushService/drop(_:)``.
    case ready(PushID)
    /// Final but for `.returned`, after which the push is announced again. Nothing follows a final one.
    case outcome(PushID, PushOutcome)
}
