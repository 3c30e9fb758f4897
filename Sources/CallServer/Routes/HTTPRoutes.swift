import EventLoop
import LibWebSockets
import Synchronization

/// The plain HTTP resources on the clients' port that are about the server; those about calls are ``CallResources``.
///
/// | resource | answer |
/// |---|---|
/// | `GET /healthz` | 200 while the process serves |
/// | `GET /readyz` | 200, or 503 with a line for each thing that is wrong |
/// | `GET /metrics` | Prometheus text |
/// | `GET /` | what this is |
final class HTTPRoutes: Sendable {
    /// Where the answers come from; there once the server has started.
    struct Sources: Sendable {
        /// What keeps the server from doing its work; empty when nothing does.
        let problems: @Sendable () async -> [String]
        let metrics: @Sendable () async -> String
    }

    private let sources = Mutex<Sources?>(nil)
    private let banner: String

    init(version: String) {
        banner = "Reveille \(version): call signaling over WebSocket at /v1/signal (subprotocol reveille.v1)\n"
    }

    func attach(_ sources: Sources) {
        self.sources.withLock { $0 = sources }
    }

    /// Lets go of the sources: they hold the parts of the server, which hold this.
    func detach() {
        // Not under the lock: the last one who holds a part runs its end.
        _ = sources.withLock { sources in
            defer { sources = nil }
            return sources
        }
    }

    /// Answers on the loop of the responder, at once or later.
    func answer(_ request: HTTPRequest, _ responder: LoopBound<HTTPResponder>) {
        guard request.method == .get || request.method == .head else {
            var refusal = HTTPResponse.text("only GET is served here\n", status: 405)
            refusal.headers = [("Allow", "GET, HEAD")]
            return responder.value.respond(refusal)
        }
        switch request.path {
        case "/healthz": responder.value.respond(.text("ok\n"))
        case "/": responder.value.respond(.text(banner))
        case "/readyz":
            later(responder) { sources in
                let problems = await sources.problems()
                return problems.isEmpty ? .text("ready\n") : .text(problems.joined(separator: "\n") + "\n", status: 503)
            }
        case "/metrics":
            later(responder) { sources in
                let text = await sources.metrics()
                return HTTPResponse(
                    status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: Array(text.utf8))
            }
        default:
            responder.value.respond(.text("no such resource: try /healthz, /readyz or /metrics\n", status: 404))
        }
    }

    private func later(
        _ responder: LoopBound<HTTPResponder>, _ answer: @escaping @Sendable (Sources) async -> HTTPResponse
    ) {
        guard let sources = sources.withLock({ $0 }) else {
            return responder.value.respond(.text("starting\n", status: 503))
        }
        Task {
            let response = await answer(sources)
            responder.loop.execute { responder.value.respond(response) }
        }
    }
}
