import LibWebSockets

/// What a shard does with its connections. One handler serves one shard; every call comes on that shard's loop.
///
/// A handler may send on and close any connection of its shard from within any of these calls.
public protocol ShardHandler: AnyObject {
    /// A client has completed the WebSocket handshake, with the right path and subprotocol.
    func connectionOpened(_ connection: WebSocketConnection)

    /// One whole text message, valid UTF-8, at most `maxFrameBytes` long. The bytes are valid during the call only.
    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection)

    /// A frame that is no whole message: a ping, a pong, or a fragment with more to follow. It costs the server as much as a
    /// short message does.
    /// - Returns: whether a ping is answered.
    func takesControlFrame(on connection: WebSocketConnection) -> Bool

    /// The connection is gone. Comes exactly once for each opened one, never from within `send` or `close`.
    func connectionClosed(_ connection: WebSocketConnection)

    /// Comes after the calls above and before the loop waits again, once for those that came together: the place to
    /// pass on what they have gathered. Comes again where jobs of the same turn lead to more of them.
    func batchEnded()

    /// A client has asked for a WebSocket and was refused, or for anything at all without the listener's token.
    func handshakeRefused(_ refusal: HandshakeRefusal)

    /// The head of a plain HTTP request whose body is still to come. A request that is answered now is refused: its body is
    /// not waited for. Otherwise ``requested(_:_:)`` follows.
    func requestBegan(_ request: HTTPRequest, _ responder: HTTPResponder)

    /// A plain HTTP request on the same port, with its whole body. Answer through `responder`, now or later, on the
    /// loop.
    func requested(_ request: HTTPRequest, _ responder: HTTPResponder)
}

extension ShardHandler {
    public func batchEnded() {}

    public func handshakeRefused(_ refusal: HandshakeRefusal) {}

    public func takesControlFrame(on connection: WebSocketConnection) -> Bool { true }

    public func requestBegan(_ request: HTTPRequest, _ responder: HTTPResponder) {}

    /// Knows no resource: 404.
    public func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {
        responder.respond(.text("no such resource\n", status: 404))
    }
}
