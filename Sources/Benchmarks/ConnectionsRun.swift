import CallVocabulary
import EventLoop
import HTTP2
import PushVocabulary
import TLS

/// Nothing but HTTP/2 connections that keep all their streams busy with the same requests, made beforehand.
/// Lives on its loop.
final class ConnectionsRun {
    private static let patience = Duration.seconds(120)

    private let loop: EventLoop
    private let requests: [PreparedRequest]
    private let work: PushWork
    private let onDone: (Result<Sample, BenchmarkError>) -> Void
    private var connections: [HTTP2ClientConnection] = []
    private var timer: LoopTimer?
    private var count: RunCount
    private var isOver = false

    private init(
        loop: EventLoop, requests: [PreparedRequest], work: PushWork,
        onDone: @escaping (Result<Sample, BenchmarkError>) -> Void
    ) {
        self.loop = loop
        self.requests = requests
        self.work = work
        count = RunCount(work.size)
        self.onDone = onDone
    }

    /// One run, on connections of its own. Every token is used once before it counts.
    static func run(target: PushTarget, work: PushWork) async throws -> Sample {
        let tls = try TLSClientContext(trust: .certificateAuthority(file: target.certificateFile))
        let requests = Self.requests(target, work)
        let loop = try EventLoop(name: "bench")
        loop.start()
        let result = await withCheckedContinuation { continuation in
            loop.execute {
                let run = ConnectionsRun(loop: loop, requests: requests, work: work) { result in
                    continuation.resume(returning: result)
                }
                run.begin(target, tls)
            }
        }
        await loop.stopAndWait()
        return try result.get()
    }

    private static func requests(_ target: PushTarget, _ work: PushWork) -> [PreparedRequest] {
        let origin = PreparedFields(method: "POST", authority: "127.0.0.1:\(target.port)")
        let constants = work.constantFields.map { field in
            HTTPField(field.name, field.value, isSensitive: field.name == "apns-expiration")
        }
        let shared = PreparedFields(constants)
        let body = work.body
        return (0..<work.round).map { index in
            let id = HTTPField("apns-id", work.order(index).id.description, isSensitive: true)
            let own = PreparedFields(path: work.path(index), isPathSensitive: true, fields: [id])
            return PreparedRequest(origin: origin, own: own, shared: shared, body: body)
        }
    }

    /// Its connections keep it alive until they are closed.
    private func begin(_ target: PushTarget, _ tls: TLSClientContext) {
        timer = LoopTimer(loop: loop) { [weak self] in
            self?.finish(.failure(BenchmarkError("the HTTP/2 connections were not done within \(Self.patience)")))
        }
        timer?.start(after: Self.patience)
        // Numeric.
        let address = SocketAddress(host: "127.0.0.1", port: target.port)!
        for index in 0..<work.size.connections {
            connections.append(
                HTTP2ClientConnection.connect(
                    loop: loop, to: address, serverName: "127.0.0.1", tls: tls, wantedFields: []
                ) {
                    event in
                    self.handle(event, of: index)
                })
        }
    }

    private func handle(_ event: HTTP2ClientConnection.Event, of index: Int) {
        guard !isOver else { return }
        switch event {
        case .opened, .pingAnswered, .data: break
        case .settings: for _ in 0..<work.size.streams { submit(on: index) }
        case .headers(_, status: 200, _): count.noteAcceptance()
        case .headers(_, let status, _): finish(.failure(BenchmarkError("answered by \(status)")))
        case .streamClosed(_, .noError): streamClosed(on: index)
        case .streamClosed(_, let code): finish(.failure(BenchmarkError("a stream ended with \(code)")))
        case .goAway, .closed: finish(.failure(BenchmarkError("nghttpd has closed a connection")))
        }
    }

    private func streamClosed(on index: Int) {
        if let result = count.result() { return finish(result) }
        submit(on: index)
    }

    private func submit(on index: Int) {
        guard let next = count.next, connections[index].submit(requests[next % requests.count]) != nil else { return }
        count.noteStart()
    }

    private func finish(_ result: Result<Sample, BenchmarkError>) {
        guard !isOver else { return }
        isOver = true
        for connection in connections { connection.close() }
        connections = []
        // Not from within the timer's own call.
        let run = LoopBound(self, on: loop)
        loop.execute { run.value.timer = nil }
        onDone(result)
    }
}

@available(*, unavailable)
extension ConnectionsRun: Sendable {}
