import EventLoop
import HTTP2
import TLS
import Testing

/// Our own HTTP/2 client with answers to be awaited. May be used from any thread.
final class TestClient: Sendable {
    struct Answer: Sendable {
        var status = 0
        var fields: [HTTPField] = []
        var body: [UInt8] = []
        /// In how many pieces the body came.
        var pieces = 0
        var text: String { String(decoding: body, as: UTF8.self) }
        func first(_ name: String) -> String? { fields.first { $0.name == name }?.value }
    }

    enum Trouble: Error {
        case notSubmitted
        case streamClosed(HTTP2ErrorCode)
        case connectionClosed
    }

    /// What concerns the connection as a whole.
    enum Notice: Sendable {
        case settings(maxConcurrentStreams: Int)
        case goAway(lastStream: StreamID, HTTP2ErrorCode, debug: String)
        case closed
    }

    private final class State {
        var http: HTTP2ClientConnection?
        var answers: [StreamID: (Answer, (Result<Answer, any Error>) -> Void)] = [:]
    }

    private let state: LoopBound<State>
    let notices: AsyncStream<Notice>

    private init(state: LoopBound<State>, notices: AsyncStream<Notice>) {
        self.state = state
        self.notices = notices
    }

    static func connect(loop: EventLoop, to address: SocketAddress, tls: TLSClientContext) async throws -> TestClient {
        let (notices, continuation) = AsyncStream.makeStream(of: Notice.self)
        let state = await loop.run {
            let state = State()
            state.http = HTTP2ClientConnection.connect(
                loop: loop, to: address, serverName: "localhost", tls: tls
            ) { event in Self.handle(event, state: state, continuation: continuation) }
            return LoopBound(state, on: loop)
        }
        return TestClient(state: try #require(state), notices: notices)
    }

    private static func handle(
        _ event: HTTP2ClientConnection.Event, state: State, continuation: AsyncStream<Notice>.Continuation
    ) {
        switch event {
        case .opened, .pingAnswered: break
        case .settings(let count): continuation.yield(.settings(maxConcurrentStreams: count))
        case .goAway(let last, let code, let debug):
            continuation.yield(.goAway(lastStream: last, code, debug: String(decoding: debug, as: UTF8.self)))
        case .headers(let stream, let status, let fields):
            state.answers[stream]?.0.status = status
            state.answers[stream]?.0.fields = fields
        case .data(let stream, let bytes):
            state.answers[stream]?.0.body += bytes
            state.answers[stream]?.0.pieces += 1
        case .streamClosed(let stream, let code):
            guard let (answer, waiter) = state.answers.removeValue(forKey: stream) else { return }
            waiter(code == .noError ? .success(answer) : .failure(Trouble.streamClosed(code)))
        case .closed:
            for (_, waiter) in state.answers.values { waiter(.failure(Trouble.connectionClosed)) }
            state.answers = [:]
            continuation.yield(.closed)
            continuation.finish()
        }
    }

    /// Waits for the next settings and says how many streams they allow.
    func nextLimit() async throws -> Int {
        try await next { if case .settings(let count) = $0 { count } else { nil } }
    }

    /// Waits for GOAWAY and gives the last stream that it names.
    func nextLastStream() async throws -> Int32 {
        try await next { if case .goAway(let last, _, _) = $0 { last.rawValue } else { nil } }
    }

    /// Waits for GOAWAY and gives its debug data.
    func nextGoAway() async throws -> String {
        try await next { if case .goAway(_, _, let debug) = $0 { debug } else { nil } }
    }

    private func next<Value>(_ wanted: (Notice) -> Value?) async throws -> Value {
        for await notice in notices {
            if let found = wanted(notice) { return found }
        }
        throw Trouble.connectionClosed
    }

    /// Waits for the end of the connection.
    func end() async {
        for await notice in notices {
            if case .closed = notice { return }
        }
    }

    func send(_ request: HTTP2Request) async throws -> Answer {
        let state = state
        return try await withCheckedThrowingContinuation { continuation in
            state.loop.execute {
                guard let stream = state.value.http?.submit(request) else {
                    return continuation.resume(throwing: Trouble.notSubmitted)
                }
                state.value.answers[stream] = (Answer(), { continuation.resume(with: $0) })
            }
        }
    }

    /// Sends all in one turn of the loop, so that they come to the server together.
    /// - Returns: the status of each that was answered to the end.
    func sendTogether(_ requests: [HTTP2Request]) async -> [Int] {
        let state = state
        let (results, feed) = AsyncStream.makeStream(of: Int?.self)
        state.loop.execute {
            for request in requests {
                guard let stream = state.value.http?.submit(request) else {
                    feed.yield(nil)
                    continue
                }
                state.value.answers[stream] = (Answer(), { feed.yield(try? $0.get().status) })
            }
        }
        var statuses: [Int?] = []
        for await status in results {
            statuses.append(status)
            if statuses.count == requests.count { break }
        }
        return statuses.compactMap(\.self)
    }

    /// Gives up all that is not answered.
    func resetAll() async {
        let state = state
        _ = await state.loop.run {
            for stream in state.value.answers.keys { state.value.http?.reset(stream, .cancel) }
        }
    }

    /// How many streams the peer allows now.
    func limit() async -> Int? {
        let state = state
        return await state.loop.run { state.value.http?.maxConcurrentStreams } ?? nil
    }
}
