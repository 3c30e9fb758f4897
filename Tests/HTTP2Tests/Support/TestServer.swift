import EventJournal
import EventLoop
import HTTP2
import TLS

/// A server on an ephemeral port of 127.0.0.1, for any number of connections.
final class TestServer: Sendable {
    enum Fact: Sendable {
        case request(StreamID, HTTP2ServerRequest)
        case streamClosed(StreamID, HTTP2ErrorCode)
        case closed(HTTP2Failure?)
    }

    typealias Behavior = (HTTP2ServerConnection, HTTP2ServerConnection.Event) -> Void

    let loop: EventLoop
    let journal = Journal<Fact>()
    let address: SocketAddress
    private let state: LoopBound<State>

    private final class State {
        var acceptor: SocketAcceptor?
        var connections: [HTTP2ServerConnection] = []
    }

    /// - Parameter behavior: called on the loop once, to make what is then called with each event.
    init(
        on loop: EventLoop, tls: TLSServerContext? = nil, settings: HTTP2ServerSettings = HTTP2ServerSettings(),
        behavior: @escaping @Sendable () -> Behavior = { TestServer.echo(_:_:) }
    ) async throws {
        self.loop = loop
        let journal = journal
        let made = await loop.run { () -> Result<(SocketAddress, LoopBound<State>), any Error> in
            Result {
                let state = State()
                let behavior = behavior()
                let any = SocketAddress(host: "127.0.0.1", port: 0)!  // A numeric address.
                let acceptor = try SocketAcceptor(loop: loop, address: any) { descriptor in
                    // Filled before the first event comes, which is never during `adopt`.
                    var connection: HTTP2ServerConnection?
                    connection = HTTP2ServerConnection.adopt(
                        loop: loop, descriptor: descriptor, tls: tls, settings: settings
                    ) { event in
                        guard let current = connection else { return }
                        if case .closed = event { connection = nil }
                        behavior(current, event)
                        journal.append(Fact(event))
                    }
                    state.connections.append(connection!)
                }
                state.acceptor = acceptor
                return (acceptor.address, LoopBound(state, on: loop))
            }
        }
        guard let made else { throw LoopStopped() }
        (address, state) = try made.get()
    }

    /// Answers each request with its body, its method and path in fields.
    static func echo(_ connection: HTTP2ServerConnection, _ event: HTTP2ServerConnection.Event) {
        guard case .request(let stream, let request) = event else { return }
        let fields = [HTTPField("x-method", request.method), HTTPField("x-path", request.path)]
        connection.respond(stream, status: 200, fields: fields, body: request.body)
    }

    /// Runs `body` on the loop with the connection that was accepted as number `index`.
    func perform(_ index: Int = 0, _ body: @escaping @Sendable (HTTP2ServerConnection) -> Void) async {
        await loop.run { [state] in body(state.value.connections[index]) }
    }

    func nextRequest(after count: Int = 0) async throws -> (StreamID, HTTP2ServerRequest) {
        let entries = try await journal.wait(for: "request \(count + 1)") { $0.requests.count > count }
        return entries.requests[count]
    }
}

extension TestServer.Fact {
    init(_ event: HTTP2ServerConnection.Event) {
        self =
            switch event {
            case .request(let stream, let request): .request(stream, request)
            case .streamClosed(let stream, let code): .streamClosed(stream, code)
            case .closed(let failure): .closed(failure)
            }
    }

    var request: (StreamID, HTTP2ServerRequest)? {
        if case .request(let stream, let request) = self { (stream, request) } else { nil }
    }
}

extension [TestServer.Fact] {
    var requests: [(StreamID, HTTP2ServerRequest)] { compactMap(\.request) }
}

struct LoopStopped: Error {}
