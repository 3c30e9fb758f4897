import CallVocabulary
import EventLoop
import Glibc
import LibWebSockets
import Logging
import WebSocketServer

/// Where metrics and the details of readiness are served by TCP.
public struct MetricsListenerConfiguration: Sendable {
    /// The port when none is named.
    public static let standardPort: UInt16 = 7352

    public var address: SocketAddress
    /// Certificate and key for https; nil for plain http.
    public var tls: TLSFiles?
    /// Nobody has asked for this address: a server that finds the port taken says so and goes on without, as a second one on
    /// the same machine does.
    public var isOptional = false

    public init(address: SocketAddress, tls: TLSFiles? = nil, isOptional: Bool = false) {
        self.address = address
        self.tls = tls
        self.isOptional = isOptional
    }
}

/// Serves `/metrics`, and `/readyz` with the reasons, to operators: without a credential, and so on a loopback address
/// unless another one was asked for. It has a thread of its own.
final class MetricsListener: Sendable {
    /// Scrapers and people with curl.
    private static let mostConnections = 64

    let address: SocketAddress
    private let webSockets: WebSocketServer

    private init(address: SocketAddress, webSockets: WebSocketServer) {
        self.address = address
        self.webSockets = webSockets
    }

    /// - Returns: nil where the port is taken and nobody has asked for it.
    /// - Throws: ``ServerConfigurationError`` for a port that is taken, `TLSCertificate.Failure`, else `SystemError`.
    static func start(
        _ listener: MetricsListenerConfiguration, routes: HTTPRoutes, log: Logger
    ) async throws -> MetricsListener? {
        var configuration = WebSocketServer.Configuration(address: listener.address)
        // No request has this path: nothing becomes a WebSocket here.
        configuration.path = ""
        configuration.soleLoop = "metrics"
        configuration.maxConnections = mostConnections
        configuration.tls = listener.tls
        let webSockets = try WebSocketServer(configuration: configuration) { _, loop in
            MetricsHandler(routes: routes, loop: loop)
        }
        do {
            return MetricsListener(address: try await webSockets.start(), webSockets: webSockets)
        } catch let error as SystemError where error.errno == EADDRINUSE {
            let advice = "name another with metrics.listen (--metrics-listen), or say off"
            guard listener.isOptional else {
                throw ServerConfigurationError(
                    field: "metrics.listen", problem: "another program listens on \(listener.address): \(advice)")
            }
            log.warning(
                "metrics are on the admin socket only: another program listens on their port; \(advice)",
                metadata: ["address": .string("\(listener.address)")])
            return nil
        }
    }

    /// What handshakes show; nil without TLS.
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
    private let loop: EventLoop

    init(routes: HTTPRoutes, loop: EventLoop) {
        self.routes = routes
        self.loop = loop
    }

    func connectionOpened(_ connection: WebSocketConnection) {
        connection.close(code: CloseCode.normal.rawValue, reason: "")
    }

    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {}

    func connectionClosed(_ connection: WebSocketConnection) {}

    func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {
        routes.answer(request, to: .operator, LoopBound(responder, on: loop))
    }
}
