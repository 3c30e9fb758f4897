/// Takes the answer to one request. Used on the loop the request came on; keeps working, to no effect, after the
/// client has gone.
public final class HTTPResponder {
    private let exchange: HTTPExchange

    init(exchange: HTTPExchange) {
        self.exchange = exchange
    }

    /// Sends the answer. Only the first call counts. A request without an answer is cut after 30 s.
    public func respond(_ response: HTTPResponse) {
        exchange.respond(response)
    }
}

@available(*, unavailable)
extension HTTPResponder: Sendable {}
