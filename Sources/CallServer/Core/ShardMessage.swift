import CallCore
import CallVocabulary

/// What the core asks of a shard.
enum ShardMessage: Sendable {
    case send(UInt64, ServerMessage)
    case disconnect(UInt64, CloseCode)
    /// Not of the core: the server was told other limits.
    case limited(ConnectionLimits)

    /// The serial of the connection that it is for; nil when it is for all of them.
    var connection: UInt64? {
        switch self {
        case .send(let serial, _), .disconnect(let serial, _): serial
        case .limited: nil
        }
    }
}
