import EventLoop
import TLS

/// Sends requests to other servers over HTTP/1.1 and reuses idle connections. Follows no redirect.
/// Confined to the loop.
public final class WebClient {
    /// The most idle connections to one origin, enough for a webhook endpoint, and to all origins.
    static let mostIdleEach = 8
    static let mostIdle = 64

    let loop: EventLoop
    let tls: TLSClientContext
    let userAgent: String
    /// The exchanges that are not over.
    private var exchanges: [ObjectIdentifier: WebExchange] = [:]
    /// The oldest first.
    private var idle: [WebConnection] = []
    private var isClosed = false

    /// - Parameter tls: speaks HTTP/1.1.
    public init(loop: EventLoop, tls: TLSClientContext, userAgent: String) {
        self.loop = loop
        self.tls = tls
        self.userAgent = userAgent
    }

    /// - Parameter completion: called once on the loop, after this returns; not after ``close()``, and not when the loop
    ///   stops first.
    /// - Returns: the exchange, for ``WebExchange/cancel()``. The client keeps it until it is over.
    @discardableResult
    public func send(
        _ request: WebRequest, completion: @escaping (Result<WebAnswer, WebFailure>) -> Void
    ) -> WebExchange {
        loop.assertIsCurrent()
        let exchange = WebExchange(request, client: self, completion: completion)
        exchanges[ObjectIdentifier(exchange)] = exchange
        exchange.begin()
        return exchange
    }

    /// Cancels all exchanges, and closes the idle connections. Call it before the loop stops. A later exchange keeps no
    /// connection.
    public func close() {
        isClosed = true
        // Each removes itself.
        for exchange in exchanges.values { exchange.cancel() }
        for connection in idle { connection.close() }
        idle = []
    }

    /// The exchange is over.
    func ended(_ exchange: WebExchange) { exchanges[ObjectIdentifier(exchange)] = nil }

    /// The idle connection that was used last; nil without one.
    func takeIdle(_ origin: WebAddress.Origin) -> WebConnection? {
        guard let index = idle.lastIndex(where: { $0.origin == origin }) else { return nil }
        return idle.remove(at: index)
    }

    /// Keeps a connection whose answer is complete.
    /// - Parameter limit: ``AnswerReader/idleTime`` of the answer.
    func keep(_ connection: WebConnection, for limit: Duration) {
        guard !isClosed else { return connection.close() }
        if idle.count(where: { $0.origin == connection.origin }) == Self.mostIdleEach {
            takeOldest { $0.origin == connection.origin }
        } else if idle.count == Self.mostIdle {
            takeOldest { _ in true }
        }
        idle.append(connection)
        connection.rest(for: limit) { [weak self, unowned connection] in self?.idle.removeAll { $0 === connection } }
    }

    private func takeOldest(_ isMeant: (WebConnection) -> Bool) {
        if let index = idle.firstIndex(where: isMeant) { idle.remove(at: index).close() }
    }
}

@available(*, unavailable)
extension WebClient: Sendable {}
