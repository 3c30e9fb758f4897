import EventLoop
import LibWebSockets

/// Asks a server for its metrics, by plain HTTP. Any thread.
final class MetricsClient: Sendable {
    /// How long an answer may take.
    private static let patience = Duration.seconds(5)
    /// The longest answer that is read.
    private static let largestAnswer = 8 << 20

    private let loop: EventLoop
    private let host: String
    private let port: UInt16
    private let request: [UInt8]

    /// - Parameters:
    ///   - url: `http://host:port/path`; nil takes `/metrics` at the server's own address.
    ///   - server: the server's, `ws://` or `wss://`.
    /// - Returns: nil when there is no address that can be asked: a server behind TLS, and no `url`.
    /// - Throws: ``LoadError`` for a `url` that is none; `SystemError` when the process is out of descriptors.
    init?(url: String?, server: String) throws {
        let text = url.map { $0.hasPrefix("http://") ? "ws" + $0.dropFirst(4) : $0 } ?? server
        guard let parsed = WebSocketURL(text) else { throw LoadError("\(url ?? server) is no address") }
        guard !parsed.isSecure else {
            guard url == nil else { throw LoadError("metrics are read by http:// only; \(text) is not that") }
            return nil
        }
        host = parsed.host
        port = parsed.port
        let path = url == nil || parsed.path == "/" ? "/metrics" : parsed.path
        request = Array("GET \(path) HTTP/1.0\r\nHost: \(parsed.host):\(parsed.port)\r\n\r\n".utf8)
        loop = try EventLoop(name: "metrics")
        loop.start()
    }

    deinit { loop.stop() }

    /// The metrics; nil when they are not to be had.
    func get() async -> ServerMetrics? {
        try? await loop.result { [loop, host, port, request] done in
            let exchange = Exchange(loop: loop, request: request, done: done)
            NameLookup.resolve(loop: loop, host: host, port: port) { exchange.begin($0) }
        }
    }

    /// One question and its answer. On the loop; stays in memory until it is over.
    private final class Exchange {
        private let loop: EventLoop
        private let request: [UInt8]
        private var done: ((Result<ServerMetrics, any Error>) -> Void)?
        private var connection: TCPConnection?
        private var timer: LoopTimer?
        private var answer: [UInt8] = []

        init(
            loop: EventLoop, request: [UInt8], done: @escaping (Result<ServerMetrics, any Error>) -> Void
        ) {
            self.loop = loop
            self.request = request
            self.done = done
        }

        func begin(_ found: Result<[SocketAddress], SystemError>) {
            guard case .success(let addresses) = found, let address = addresses.first else { return isOver() }
            timer = LoopTimer(loop: loop) { [weak self] in self?.connection?.close() }
            timer?.start(after: MetricsClient.patience)
            connection = TCPConnection.connect(loop: loop, to: address) { [self] event in
                switch event {
                case .connected: connection?.write(request)
                case .received(let bytes):
                    answer += bytes
                    if answer.count > MetricsClient.largestAnswer { connection?.close() }
                case .drained: break
                case .closed: isOver()
                }
            }
        }

        private func isOver() {
            timer = nil
            connection = nil
            done?(Result { try metrics() })
            done = nil
        }

        private func metrics() throws -> ServerMetrics {
            let text = String(decoding: answer, as: UTF8.self)
            guard text.hasPrefix("HTTP/1."), text.dropFirst(8).hasPrefix(" 200"),
                let end = text.firstRange(of: "\r\n\r\n")?.upperBound
            else { throw LoadError("the server gives no metrics") }
            return ServerMetrics(text: text[end...])
        }
    }
}
