import AdminProtocol
import CallMonitor
import CallVocabulary
import EventLoop
import LibWebSockets
import Synchronization
import WebPages

/// HTTP resources about the server; those about calls are in ``CallResources``.
///
/// | resource | on the clients' port | on the metrics listener and the admin socket |
/// |---|---|---|
/// | `GET /healthz` | 200 while the process serves | the same |
/// | `GET /homez` | 200 `home` while clients may be sent to this process, or 503 `not the home`: see ``Sources/isHome`` | the same |
/// | `GET /readyz` | 200 `ready`, or 503 `not ready` | the same, with a line for each problem; or `ReadinessView` in JSON |
/// | `GET /metrics` | 404 | Prometheus text |
/// | `GET /` | what this is; a browser is redirected to `/phone/` or `/board/` | the same |
/// | ``WebPages`` | the library, the softphone, the files of `web.root` | the board |
final class HTTPRoutes: Sendable {
    /// Resources served on the clients' port even when all connections are taken.
    static let alwaysServed: Set<String> = ["/healthz", "/homez", "/readyz"]

    /// The kind of client, determined by the listener.
    enum Audience: Sendable {
        /// Any client: gets no details about the server.
        case client
        case `operator`
    }

    /// The sources of answers; set once the server has started.
    struct Sources: Sendable {
        /// All problems of the server, the worst first.
        let problems: @Sendable () async -> [ServerProblem]
        /// Why a server without a problem is not ready: it stands by.
        var standsBy: @Sendable () -> String? = { nil }
        let metrics: @Sendable () async -> String
        /// Whether this process serves the realm. Unlike readiness, a push provider that is away or a drain changes
        /// nothing: a proxy that closed the sockets for these would make a small failure one of all calls.
        let isHome: @Sendable () -> Bool
    }

    private let sources = Mutex<Sources?>(nil)
    private let version: String
    private let pages: WebPages

    init(version: String, pages: WebPages) {
        self.pages = pages
        self.version = version
    }

    func attach(_ sources: Sources) {
        self.sources.withLock { $0 = sources }
    }

    /// Releases the sources: they hold the parts of the server, which hold this object.
    func detach() {
        // Outside the lock: releasing the last reference to a part runs its deinit.
        _ = sources.withLock { sources in
            defer { sources = nil }
            return sources
        }
    }

    /// Answers on the loop of the responder, at once or later.
    func answer(_ request: HTTPRequest, to audience: Audience, _ responder: LoopBound<HTTPResponder>) {
        guard request.method == .get || request.method == .head else {
            var refusal = HTTPResponse.text("only GET is served here\n", status: 405)
            refusal.headers = [("Allow", "GET, HEAD")]
            return responder.value.respond(Self.form(refusal, for: audience))
        }
        if let page = page(for: request, to: audience) { return responder.value.respond(page) }
        switch (request.path, audience) {
        case ("/healthz", _): responder.value.respond(.text("ok\n"))
        case ("/", .client):
            responder.value.respond(
                .text("Reveille \(version): call signaling over WebSocket at /v1/signal (subprotocol reveille.v1)\n"))
        case ("/", .operator):
            responder.value.respond(.text("Reveille \(version), for operators: /healthz, /readyz and /metrics\n"))
        case ("/homez", _):
            let isHome = sources.withLock { $0 }?.isHome() ?? false
            responder.value.respond(isHome ? .text("home\n") : .text("not the home\n", status: 503))
        case ("/readyz", .operator) where request.accept?.contains("application/json") == true:
            later(responder) { sources in
                let view = ReadinessView(
                    isHome: sources.isHome(), standsBy: sources.standsBy(), problems: await sources.problems())
                let isReady = view.standsBy == nil && ServerFacts.isReady(view.problems)
                return .json(AdminFrameWriter.json(view), status: isReady ? 200 : 503)
            }
        case ("/readyz", _):
            later(responder) { Self.readiness(await $0.problems(), standsBy: $0.standsBy(), audience) }
        case ("/metrics", .operator):
            later(responder) { sources in
                let text = await sources.metrics()
                return HTTPResponse(
                    status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: Array(text.utf8))
            }
        case (_, .client):
            let refusal = HTTPResponse.text("no such resource: try /phone/, /healthz or /readyz\n", status: 404)
            responder.value.respond(Self.form(refusal, for: audience))
        case (_, .operator):
            responder.value.respond(.text("no such resource: try /healthz, /readyz or /metrics\n", status: 404))
        }
    }

    /// Clients get the error object; operators, who read it themselves, plain text.
    private static func form(_ refusal: HTTPResponse, for audience: Audience) -> HTTPResponse {
        audience == .client ? .errorObject(for: refusal) : refusal
    }

    /// All problems of the server, the worst first; empty while it starts.
    func problems() async -> [ServerProblem] { await sources.withLock { $0 }?.problems() ?? [] }

    /// The answer to `/readyz`. Operators get a line for each problem; those that leave the server ready are marked.
    static func readiness(
        _ problems: [ServerProblem], standsBy: String?, _ audience: Audience
    ) -> HTTPResponse {
        let isReady = standsBy == nil && ServerFacts.isReady(problems)
        let head = isReady ? ["ready"] : standsBy.map { [$0] } ?? []
        let status = isReady ? 200 : 503
        switch audience {
        case .client: return .text(isReady ? "ready\n" : "not ready\n", status: status)
        case .operator:
            let lines = head + problems.map { $0.isUnready ? $0.words : "\($0.severity.rawValue): \($0.words)" }
            return .text(lines.map { $0.printable(upTo: 2000) + "\n" }.joined(), status: status)
        }
    }

    /// Whether the resource needs no token of the admin listener: pages contain no data.
    func isPublic(path: String) -> Bool { path == "/" || pages.contains(path, for: .administrators) }

    private func page(for request: HTTPRequest, to audience: Audience) -> HTTPResponse? {
        let (pageAudience, start): (WebPages.Audience, String) =
            audience == .client ? (.users, "/phone/") : (.administrators, "/board/")
        if let page = pages.response(to: request, for: pageAudience) { return page }
        guard request.path == "/", request.accept?.contains("text/html") == true,
            pages.contains(start, for: pageAudience)
        else { return nil }
        return HTTPResponse(status: 302, contentType: "text/plain", headers: [("Location", start)])
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
