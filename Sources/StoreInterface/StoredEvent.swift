import CallCore
import CallVocabulary

/// An event for other systems, as stored.
public struct StoredEvent: Equatable, Sendable {
    /// What changed. Events of one subject are delivered in the order of their positions.
    public enum Subject: Hashable, Sendable {
        case call(CallID)
        case device(DeviceKey)
    }

    /// Grows with each event; no position is used twice, even after the event is deleted.
    public var position: Int64
    public var id: EventID
    public var kind: EventKind
    public var at: Instant
    public var subject: Subject
    /// The call's caller, or the device's user; nil for a call's event from a version that did not store it.
    public var user: Handle?
    /// The JSON that is sent, byte for byte.
    public var body: RawJSON

    public init(
        position: Int64, id: EventID, kind: EventKind, at: Instant, subject: Subject, user: Handle?, body: RawJSON
    ) {
        self.position = position
        self.id = id
        self.kind = kind
        self.at = at
        self.subject = subject
        self.user = user
        self.body = body
    }
}
