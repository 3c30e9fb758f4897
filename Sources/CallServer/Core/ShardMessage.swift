import CallCore
import CallVocabulary
import ClientTokens

/// Messages to a shard.
enum ShardMessage: Sendable {
    case send(UInt64, ServerMessage)
    case disconnect(UInt64, CloseCode)
    /// New connection limits, from a reload and not from the core.
    case limited(ConnectionLimits)
    /// The present keys of user tokens, likewise: sessions of other keys end.
    case keysChanged(Set<KeyFingerprint>)

    /// The serial of the connection concerned; nil for all connections.
    var connection: UInt64? {
        switch self {
        case .send(let serial, _), .disconnect(let serial, _): serial
        case .limited, .keysChanged: nil
        }
    }
}
