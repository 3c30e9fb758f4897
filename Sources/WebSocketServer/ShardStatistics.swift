/// Counters of one shard since its start, and its present number of connections.
public struct ShardStatistics: Sendable, Equatable {
    /// WebSockets that are open now.
    public var connections = 0
    /// WebSockets opened since the start.
    public var opened: UInt64 = 0
    public var messagesIn: UInt64 = 0
    public var messagesOut: UInt64 = 0
    /// Payload bytes of the messages.
    public var bytesIn: UInt64 = 0
    public var bytesOut: UInt64 = 0
    /// Connections closed with 3001, or cut, because the client did not read.
    public var slowConsumers: UInt64 = 0
    /// Connections closed with 3002 because the client did not answer a ping.
    public var pingTimeouts: UInt64 = 0
    /// Connections closed for an invalid message: broken frame (1002), binary (1003), invalid UTF-8 (1007), too large
    /// (3502).
    public var badFrames: UInt64 = 0
    /// Refused handshakes: wrong path or subprotocol, not a WebSocket, or without the required credential.
    public var handshakesRefused: UInt64 = 0
    /// Accepted connections closed before any request: memory or descriptors ran out, or the TLS handshake failed at
    /// its first step.
    public var connectionsFailed: UInt64 = 0
    /// Plain HTTP requests.
    public var requests: UInt64 = 0
    /// Connections closed because a handshake, request or message did not complete in time.
    public var unfinished: UInt64 = 0
    /// Bytes queued for clients to read at present.
    public var unreadBytes = 0
}
