import CallVocabulary

/// A frame as read by a client.
public enum ServerFrame: Equatable, Sendable {
    case message(ServerMessage)
    /// A notification or request unknown to this version. A numbered one counts as handled.
    case ignored(method: String, seq: UInt64?)
}
