import CallCore
import CallVocabulary

/// What the core asks of a shard.
enum ShardMessage: Sendable {
    case send(UInt64, ServerMessage)
    case disconnect(UInt64, CloseCode)
    /// Not of the core: the server was told other limits.
    case limited(ConnectionLimits)
}
