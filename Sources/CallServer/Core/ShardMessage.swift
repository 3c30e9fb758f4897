import CallCore
import CallVocabulary
import ClientTokens

/// Messages to a shard.
enum ShardMessage: Sendable {
    case send(UInt64, ServerMessage)
    case disconnect(UInt64, CloseCode)
    /// New connection limits, from a reload and not from the core.
    case limited(ConnectionLimits)
    /// Keys of user tokens that a reload has removed.
    case removed(Set<KeyFingerprint>)

    /// The serial of the connection concerned; nil for all connections.
    var connection: UInt64? {
        switch self {
        case .send(let serial, _), .disconnect(let serial, _): serial
        case .limited, .removed: nil
        }
    }
}
