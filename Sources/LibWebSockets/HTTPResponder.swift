/// Takes the answer to one request. Used on the loop the request came on; keeps working, to no effect, after the
/// client has gone.
public final class HTTPResponder {
    private let exchange: HTTPExchange
    private let request: Int

    init(exchange: HTTPExchange, request: Int) {
        self.exchange = exchange
        self.request = request
    }

    /// Sends the answer. Only the first call counts. A request without an answer is cut after 30 s.
    public func respond(_ response: HTTPResponse) {
        exchange.respond(response, to: request)
    }
}

@available(*, unavailable)
extension HTTPResponder: Sendable {}
