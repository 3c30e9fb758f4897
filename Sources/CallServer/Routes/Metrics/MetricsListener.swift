import AdminServer
import CallVocabulary
import EventLoop
import Glibc
import LibWebSockets
import Logging
import TLS
import WebSocketServer

/// The TCP listener for metrics and the details of readiness.
public struct MetricsListenerConfiguration: Sendable {
    /// The default port.
    public static let standardPort: UInt16 = 7352

    public var address: SocketAddress
    /// Certificate and key for https; nil for plain http.
    public var tls: TLSFiles?
    /// Whether the address is only a default. If its port is taken, as by a second server on the machine, the server
    /// then logs that and starts without metrics.
    public var isOptional = false

    public init(address: SocketAddress, tls: TLSFiles? = nil, isOptional: Bool = false) {
        self.address = address
        self.tls = tls
        self.isOptional = isOptional
    }
}

/// Serves `/metrics`, and `/readyz` with reasons, to operators. It requires no credential, and so listens on a loopback
/// address by default. It has a thread of its own.
final class MetricsListener: Sendable {
    /// For scrapers and people with curl.
    private static let mostConnections = 64

    let address: SocketAddress
    private let webSockets: WebSocketServer

    private init(address: SocketAddress, webSockets: WebSocketServer) {
        self.address = address
        self.webSockets = webSockets
    }

    /// - Returns: nil when the port is taken and the address is only a default.
    /// - Throws: ``ServerConfigurationError`` for a configured port that is taken, `TLSCertificate.Failure`, otherwise
    ///   `SystemError`.
    static func start(
        _ listener: MetricsListenerConfiguration, routes: HTTPRoutes, log: Logger
    ) async throws -> MetricsListener? {
        var configuration = WebSocketServer.Configuration(address: listener.address)
        // Matches no request: this listener accepts no WebSockets.
        configuration.path = ""
        configuration.soleLoop = "metrics"
        configuration.maxConnections = mostConnections
        configuration.onPressure = { $0.warn(of: "the listener of metrics", log) }
        configuration.tls = listener.tls
        let webSockets = try WebSocketServer(configuration: configuration) { _, loop in
            MetricsHandler(routes: routes, isLocal: listener.address.isLoopback, loop: loop)
        }
        do {
            return MetricsListener(address: try await webSockets.start(), webSockets: webSockets)
        } catch let error as SystemError where error.errno == EADDRINUSE {
            let advice = "set another address with metrics.listen (--metrics-listen), or off"
            guard listener.isOptional else {
                throw ServerConfigurationError(
                    field: "metrics.listen", problem: "another program listens on \(listener.address): \(advice)")
            }
            log.warning(
                "metrics are served on the admin socket only: their port is in use; \(advice)",
                metadata: ["address": .string("\(listener.address)")])
            return nil
        }
    }

    /// Whether a `Host` header names the server by an address, or as `localhost`. A page of another site reads what a
    /// loopback address answers if its own name leads there; then the browser sends this name. A program may send none.
    static func isOwn(_ host: String?) -> Bool {
        guard let host else { return true }
        let name = SignInByName.name(of: host)
        let bare = name.hasPrefix("[") ? String(name.dropFirst().dropLast()) : name
        return SocketAddress(host: bare, port: 0) != nil
    }

    /// The listener's certificate; nil without TLS.
    var certificate: TLSCertificate? { webSockets.certificate }

    /// `http://127.0.0.1:7352/metrics`
    var url: String { "\(certificate == nil ? "http" : "https")://\(address)/metrics" }

    func replaceCertificate(with certificate: TLSCertificate) async {
        await webSockets.replaceCertificate(with: certificate)
    }

    func stop() async {
        await webSockets.stop(closeCode: CloseCode.shutdown.rawValue, reason: "", grace: .zero)
    }
}

/// Answers operators' requests. Confined to its loop.
private final class MetricsHandler: ShardHandler {
    private let routes: HTTPRoutes
    /// Whether it listens on a loopback address.
    private let isLocal: Bool
    private let loop: EventLoop

    init(routes: HTTPRoutes, isLocal: Bool, loop: EventLoop) {
        self.routes = routes
        self.isLocal = isLocal
        self.loop = loop
    }

    func connectionOpened(_ connection: WebSocketConnection) {
        connection.close(code: CloseCode.normal.rawValue, reason: "")
    }

    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {}

    func connectionClosed(_ connection: WebSocketConnection) {}

    func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {
        guard !isLocal || MetricsListener.isOwn(request.host) else {
            return responder.respond(
                .text("ask for an address or localhost, as in http://127.0.0.1:7352/metrics\n", status: 403))
        }
        routes.answer(request, to: .operator, LoopBound(responder, on: loop))
    }
}
