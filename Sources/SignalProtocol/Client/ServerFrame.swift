import CallVocabulary

/// What a client makes of a frame.
public enum ServerFrame: Equatable, Sendable {
    case message(ServerMessage)
    /// A notification, or a request, that this version does not know. If it is numbered, it counts as handled.
    case ignored(method: String, seq: UInt64?)
}
