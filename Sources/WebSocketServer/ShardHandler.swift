import LibWebSockets

/// The handler of a shard's connections. One handler serves one shard; all calls are on that shard's loop.
///
/// A handler may send on and close any connection of its shard within any of these calls.
public protocol ShardHandler: AnyObject {
    /// A client has completed the WebSocket handshake with the required path and subprotocol.
    func connectionOpened(_ connection: WebSocketConnection)

    /// A complete text message: valid UTF-8, at most `maxFrameBytes` long, valid during the call only.
    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection)

    /// A ping, a pong, or a fragment with more to follow. It costs the server as much as a short message.
    /// - Returns: whether a ping is answered.
    func takesControlFrame(on connection: WebSocketConnection) -> Bool

    /// The connection has ended. Called exactly once for each opened connection, never within `send` or `close`.
    func connectionClosed(_ connection: WebSocketConnection)

    /// Called once after a batch of the calls above, before the loop waits again: the place to pass on collected
    /// messages. Called again if jobs of the same turn lead to more calls.
    func batchEnded()

    /// A WebSocket handshake was refused, or any request without the listener's token.
    func handshakeRefused(_ refusal: HandshakeRefusal)

    /// The listener itself refused a plain HTTP request by its head.
    func requestRefused(status: Int)

    /// The response that refuses a request which the listener answers itself, a preflight or one for the WebSockets'
    /// path, beyond a rate; nil to answer it.
    func rateRefusal(of request: HTTPRequest) -> HTTPResponse?

    /// The head of a plain HTTP request whose body is still to come. An answer now refuses the request without waiting
    /// for its body. Otherwise ``requested(_:_:)`` follows.
    func requestBegan(_ request: HTTPRequest, _ responder: HTTPResponder)

    /// A plain HTTP request with its whole body. Answer through `responder` on the loop, now or later.
    func requested(_ request: HTTPRequest, _ responder: HTTPResponder)
}

extension ShardHandler {
    public func batchEnded() {}

    public func handshakeRefused(_ refusal: HandshakeRefusal) {}

    public func requestRefused(status: Int) {}

    public func takesControlFrame(on connection: WebSocketConnection) -> Bool { true }

    public func rateRefusal(of request: HTTPRequest) -> HTTPResponse? { nil }

    public func requestBegan(_ request: HTTPRequest, _ responder: HTTPResponder) {}

    /// Answers 404.
    public func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {
        responder.respond(.text("no such resource\n", status: 404))
    }
}
