/// What one shard has done since its start, and how many connections it holds. Counters only grow.
public struct ShardStatistics: Sendable, Equatable {
    /// WebSockets open now.
    public var connections = 0
    /// WebSockets opened since the start.
    public var opened: UInt64 = 0
    public var messagesIn: UInt64 = 0
    public var messagesOut: UInt64 = 0
    /// Payload bytes of the messages.
    public var bytesIn: UInt64 = 0
    public var bytesOut: UInt64 = 0
    /// Connections closed with 3001 because they did not read what was sent.
    public var slowConsumers: UInt64 = 0
    /// Connections closed with 3002 because they did not answer a ping.
    public var pingTimeouts: UInt64 = 0
    /// Connections closed for what they sent: a broken frame (1002), binary (1003), invalid UTF-8 (1007), too large (3502).
    public var badFrames: UInt64 = 0
    /// Handshakes refused: another path or subprotocol, no WebSocket's, or without what it takes to be let in.
    public var handshakesRefused: UInt64 = 0
    /// Accepted connections that were closed before anything came of them: there was no memory or no descriptor to serve
    /// them with, or, with TLS, its handshake failed at its first step.
    public var connectionsFailed: UInt64 = 0
    /// Plain HTTP requests.
    public var requests: UInt64 = 0
    /// Connections closed because a handshake, a request or a message that had begun did not end in time.
    public var unfinished: UInt64 = 0
}
