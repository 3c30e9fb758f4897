import CallVocabulary
import PushVocabulary

/// An event from the push path to the call core.
public enum PushEvent: Equatable, Sendable {
    /// The push may be sent now: decide again, then call ``PushService/transmit(_:)`` or ``PushService/drop(_:)``.
    case ready(PushID)
    /// The push's outcome. Final except `.returned`, after which the push is announced again. No event follows a final
    /// one.
    case outcome(PushID, PushOutcome)
}
