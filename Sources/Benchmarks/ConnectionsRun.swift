import CallVocabulary
import EventLoop
import HTTP2
import PushVocabulary
import TLS

/// HTTP/2 connections alone, which keep all streams busy with the same prepared requests. Confined to its loop.
final class ConnectionsRun {
    private let run: PushRun
    private let requests: [PreparedRequest]
    private let work: PushWork
    private var connections: [HTTP2ClientConnection] = []

    private init(_ run: PushRun, requests: [PreparedRequest], work: PushWork) {
        self.run = run
        self.requests = requests
        self.work = work
    }

    /// One run, on new connections. Each token is used once before the measurement.
    static func run(target: PushTarget, work: PushWork) async throws -> Sample {
        let tls = try TLSClientContext(trust: .certificateAuthority(file: target.certificateFile))
        let requests = Self.requests(target, work)
        return try await PushRun.measure(work.size) { run in
            ConnectionsRun(run, requests: requests, work: work).begin(target, tls)
        }
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

    /// Its connections retain it until they are closed.
    private func begin(_ target: PushTarget, _ tls: TLSClientContext) {
        // Force-unwrap: the literal is a numeric address.
        let address = SocketAddress(host: "127.0.0.1", port: target.port)!
        connections = (0..<work.size.connections).map { index in
            HTTP2ClientConnection.connect(
                loop: run.loop, to: address, serverName: "127.0.0.1", tls: tls, wantedFields: []
            ) { event in
                self.handle(event, of: index)
            }
        }
        run.close = {
            for connection in self.connections { connection.close() }
            self.connections = []
        }
    }

    private func handle(_ event: HTTP2ClientConnection.Event, of index: Int) {
        guard !run.isOver else { return }
        switch event {
        case .opened, .pingAnswered, .data: break
        case .settings: for _ in 0..<work.size.streams { submit(on: index) }
        case .headers(_, status: 200, _): run.noteAcceptance()
        case .headers(_, let status, _): run.fail("answered by \(status)")
        case .streamClosed(_, .noError):
            run.finishIfComplete(connections: connections.count)
            submit(on: index)
        case .streamClosed(_, let code): run.fail("a stream ended with \(code)")
        case .goAway, .closed: run.fail("nghttpd has closed a connection")
        }
    }

    private func submit(on index: Int) {
        guard let next = run.next, connections[index].submit(requests[next % requests.count]) != nil else { return }
        run.noteStart()
    }
}

@available(*, unavailable)
extension ConnectionsRun: Sendable {}
