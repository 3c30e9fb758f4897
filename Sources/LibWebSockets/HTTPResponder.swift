/// Sends the response to one request. Used on the request's loop. Has no effect once the client has disconnected.
public final class HTTPResponder {
    private let exchange: HTTPExchange
    private let request: Int

    init(exchange: HTTPExchange, request: Int) {
        self.exchange = exchange
        self.request = request
    }

    /// Sends the response. Only the first call counts. A request without a response is closed after 30 s.
    public func respond(_ response: HTTPResponse) {
        exchange.respond(response, to: request)
    }

    /// Whether a response would be sent: false once there was one, or the connection is gone.
    public var isAwaited: Bool { exchange.isWaiting(for: request) }
}

@available(*, unavailable)
extension HTTPResponder: Sendable {}
