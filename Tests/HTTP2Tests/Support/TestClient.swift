import EventJournal
import EventLoop
import HTTP2
import TLS

/// A client connection that notes its events.
final class TestClient: Sendable {
    enum Fact: Sendable, Equatable {
        case opened
        case settings(Int)
        case headers(StreamID, Int, [HTTPField])
        case data(StreamID, [UInt8])
        case streamClosed(StreamID, HTTP2ErrorCode)
        case goAway(StreamID, HTTP2ErrorCode, String)
        case pingAnswered
        case closed(HTTP2Failure?)
    }

    typealias Behavior = (HTTP2ClientConnection, HTTP2ClientConnection.Event) -> Void

    let loop: EventLoop
    let journal = Journal<Fact>()
    /// For a job that already is on the loop.
    let connection: LoopBound<HTTP2ClientConnection>

    /// - Parameter behavior: called on the loop once, to make what is then called with each event.
    init(
        on loop: EventLoop, to address: SocketAddress, serverName: String = "localhost", tls: TLSClientContext? = nil,
        wantedFields: [String]? = nil, handshakeTimeout: Duration = .seconds(10),
        behavior: @escaping @Sendable () -> Behavior = { { _, _ in } }
    ) async throws {
        self.loop = loop
        let journal = journal
        let made = await loop.run {
            let behavior = behavior()
            var connection: HTTP2ClientConnection?
            connection = HTTP2ClientConnection.connect(
                loop: loop, to: address, serverName: serverName, tls: tls, wantedFields: wantedFields,
                handshakeTimeout: handshakeTimeout
            ) { event in
                guard let current = connection else { return }
                if case .closed = event { connection = nil }
                behavior(current, event)
                journal.append(Fact(event))
            }
            // Events never come during `connect`.
            return LoopBound(connection!, on: loop)
        }
        guard let made else { throw LoopStopped() }
        connection = made
    }

    @discardableResult
    func perform<Result: Sendable>(
        _ body: @escaping @Sendable (HTTP2ClientConnection) -> Result
    ) async throws -> Result {
        guard let result = await loop.run({ [connection] in body(connection.value) }) else { throw LoopStopped() }
        return result
    }

    func waitUntilReady() async throws {
        _ = try await journal.first("settings") { if case .settings = $0 { true } else { nil } }
    }

    func submit(_ request: HTTP2Request) async throws -> StreamID? {
        try await perform { $0.submit(request) }
    }

    /// The end of a stream, with what came on it.
    func response(on stream: StreamID) async throws -> Response {
        _ = try await code(of: stream)
        var response = Response()
        for fact in journal.entries {
            switch fact {
            case .headers(stream, let status, let fields):
                response.status = status
                response.fields = fields
            case .data(stream, let bytes): response.body += bytes
            case .streamClosed(stream, let code): response.code = code
            case .opened, .settings, .headers, .data, .streamClosed, .goAway, .pingAnswered, .closed: break
            }
        }
        return response
    }

    func code(of stream: StreamID) async throws -> HTTP2ErrorCode {
        try await journal.first("end of stream \(stream)") {
            if case .streamClosed(stream, let code) = $0 { code } else { nil }
        }
    }

    func closed() async throws -> HTTP2Failure? {
        try await journal.first("end of the connection") {
            if case .closed(let failure) = $0 { Optional.some(failure) } else { nil }
        }
    }

    struct Response: Sendable {
        var status = 0
        var fields: [HTTPField] = []
        var body: [UInt8] = []
        var code: HTTP2ErrorCode?
    }
}

extension TestClient.Fact {
    init(_ event: HTTP2ClientConnection.Event) {
        self =
            switch event {
            case .opened: .opened
            case .settings(let limit): .settings(limit)
            case .headers(let stream, let status, let fields): .headers(stream, status, fields)
            case .data(let stream, let bytes): .data(stream, Array(bytes))
            case .streamClosed(let stream, let code): .streamClosed(stream, code)
            case .goAway(let stream, let code, let debug): .goAway(stream, code, String(decoding: debug, as: UTF8.self))
            case .pingAnswered: .pingAnswered
            case .closed(let failure): .closed(failure)
            }
    }
}

extension HTTP2Request {
    static func post(_ path: String, _ body: String, fields: [HTTPField] = []) -> HTTP2Request {
        HTTP2Request(method: "POST", authority: "localhost", path: path, fields: fields, body: Array(body.utf8))
    }
}
