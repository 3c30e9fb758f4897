import CallVocabulary
import EventLoop
import HTTP2
import PushCore
import TLS

/// One request on its own connection, for rare requests: access tokens and registrations. Confined to the loop; keeps
/// itself alive until it is done.
final class HTTPSExchange {
    struct Response: Equatable, Sendable {
        var status = 0
        var fields: [HTTPField] = []
        var body: [UInt8] = []
    }

    /// Why there is no response, as text.
    struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        let description: String
    }

    typealias Completion = (Result<Response, Failure>) -> Void

    static let patience = Duration.seconds(10)
    /// An upper bound of the longest answer: a thousand results of a registration.
    private static let longestBody = 512 * 1024

    private let host: HTTPSHost
    private let request: HTTP2Request
    private let loop: EventLoop
    private let tls: TLSClientContext
    private var completion: Completion?
    private var connection: HTTP2ClientConnection?
    private var timer: LoopTimer?
    private var response = Response()
    private var stream: StreamID?

    private init(
        _ request: HTTP2Request, to host: HTTPSHost, tls: TLSClientContext, loop: EventLoop,
        completion: @escaping Completion
    ) {
        self.request = request
        self.host = host
        self.tls = tls
        self.loop = loop
        self.completion = completion
    }

    /// - Parameters:
    ///   - patience: the timeout, from now to the end of the response.
    ///   - completion: called once on the loop, after this returns.
    /// - Returns: the exchange, for ``cancel()``.
    @discardableResult
    static func start(
        _ request: HTTP2Request, to host: HTTPSHost, tls: TLSClientContext, loop: EventLoop,
        patience: Duration = patience, completion: @escaping Completion
    ) -> HTTPSExchange {
        let exchange = HTTPSExchange(request, to: host, tls: tls, loop: loop, completion: completion)
        exchange.timer = LoopTimer(loop: loop) { [weak exchange] in exchange?.fail("no answer in time") }
        exchange.timer?.start(after: patience)
        exchange.resolve()
        return exchange
    }

    /// Ends the request without calling its completion.
    func cancel() {
        completion = nil
        end()
    }

    private func resolve() {
        NameLookup.resolve(loop: loop, host: host.name, port: host.port) { [self] found in
            switch found {
            case .success(let addresses): connect(to: addresses)
            case .failure(let error): fail(error.description)
            }
        }
    }

    private func connect(to addresses: [SocketAddress]) {
        guard completion != nil else { return }
        // Never empty: a lookup without an address fails.
        let rest = Array(addresses.dropFirst())
        connection = HTTP2ClientConnection.connect(
            loop: loop, to: addresses[0], serverName: host.name, tls: tls,
            handshakeTimeout: Self.patience / (addresses.count + 1)
        ) { [self] in handle($0, untried: rest) }
    }

    private func handle(_ event: HTTP2ClientConnection.Event, untried: [SocketAddress]) {
        guard completion != nil else { return }
        switch event {
        case .settings:
            guard stream == nil else { return }
            stream = connection?.submit(request)
            if stream == nil { fail("\(host.authority) takes no request") }
        case .headers(_, let status, let fields):
            response.status = status
            response.fields = fields
        case .data(_, let bytes): response.body.append(contentsOf: bytes.prefix(Self.longestBody - response.body.count))
        case .streamClosed(_, let code):
            if response.status == 0 { fail("\(host.authority) gave the request up: \(code)") } else { succeed() }
        case .closed(let failure):
            connection = nil
            if stream == nil, !untried.isEmpty { return connect(to: untried) }
            if response.status != 0 { return succeed() }
            fail(failure?.description ?? "\(host.authority) has closed the connection")
        case .opened, .goAway, .pingAnswered: break
        }
    }

    private func succeed() { finish(.success(response)) }

    private func fail(_ reason: String) { finish(.failure(Failure(description: reason))) }

    private func finish(_ result: Result<Response, Failure>) {
        guard let completion else { return }
        self.completion = nil
        // Delayed: the caller may be in the middle of an operation, or the timer may be the caller.
        let exchange = LoopBound((self, completion), on: loop)
        loop.execute {
            exchange.value.0.end()
            exchange.value.1(result)
        }
    }

    private func end() {
        connection?.close()
        connection = nil
        timer = nil
    }
}

@available(*, unavailable)
extension HTTPSExchange: Sendable {}
