import CallServer
import EventLoop
import HTTP2
import LibWebSockets
import TLS

/// Gets a server's metrics by HTTP/1.0, over TLS if the server speaks it. Any thread.
final class MetricsClient: Sendable {
    /// How long an answer may take.
    static let patience = Duration.seconds(5)
    /// The longest answer that is read.
    private static let largestAnswer = 8 << 20

    private let loop: EventLoop
    private let host: String
    /// nil: nobody knows.
    private let port: UInt16?
    private let request: [UInt8]
    private let patience: Duration
    private let resolve: Resolve
    /// nil for plain HTTP.
    private let tls: TLSClientContext?

    /// Finds the addresses of a host; calls back once, on the loop.
    typealias Resolve =
        @Sendable (
            EventLoop, _ host: String, _ port: UInt16, @escaping (Result<[SocketAddress], SystemError>) -> Void
        ) -> Void

    /// - Parameters:
    ///   - url: `http://` or `https://`. nil: the standard port for metrics, if the server has the standard port for
    ///     clients.
    ///   - server: the server's, `ws://` or `wss://`.
    ///   - caFile: the certificates that may be shown there, and no others; nil: those that the system trusts.
    ///   - patience: how long an answer may take, with the look-up of the name.
    /// - Throws: ``LoadError`` for a bad `url`; `HTTP2Failure` for an unusable `caFile`; `SystemError` without
    ///   descriptors.
    init(
        url: String?, server: String, caFile: String? = nil, patience: Duration = MetricsClient.patience,
        resolve: @escaping Resolve = { NameLookup.resolve(loop: $0, host: $1, port: $2, completion: $3) }
    ) throws {
        let text = url.map { $0.hasPrefix("http") ? "ws" + $0.dropFirst(4) : $0 } ?? server
        guard let parsed = WebSocketURL(text) else { throw LoadError("\(url ?? server) is no address") }
        tls =
            parsed.isSecure && url != nil
            ? try TLSClientContext(
                trust: caFile.map { .certificateAuthority(file: $0) } ?? .system, speaking: .http1) : nil
        self.patience = patience
        self.resolve = resolve
        host = parsed.host
        let standard =
            parsed.port == ServerConfiguration.standardPort ? MetricsListenerConfiguration.standardPort : nil
        port = url == nil ? standard : parsed.port
        let path = url == nil || parsed.path == "/" ? "/metrics" : parsed.path
        request = Array("GET \(path) HTTP/1.0\r\nHost: \(parsed.host):\(port ?? 0)\r\n\r\n".utf8)
        loop = try EventLoop(name: "metrics")
        loop.start()
    }

    deinit { loop.stop() }

    /// The metrics; nil when they are not to be had.
    func get() async -> ServerMetrics? {
        guard let port else { return nil }
        return try? await loop.result { [loop, host, request, tls, patience, resolve] done in
            let exchange = Exchange(
                loop: loop, request: request, tls: tls.map { ($0, host) }, patience: patience, done: done)
            resolve(loop, host, port) { exchange.begin($0) }
        }
    }

    /// One question and its answer. On the loop; stays in memory until it is over.
    private final class Exchange {
        /// Its connection, one of the two.
        private enum Line {
            case plain(TCPConnection)
            case secure(TLSConnection)

            func write(_ bytes: [UInt8]) {
                switch self {
                case .plain(let connection): connection.write(bytes)
                case .secure(let connection): connection.write(bytes)
                }
            }

            func close() {
                switch self {
                case .plain(let connection): connection.close()
                case .secure(let connection): connection.close()
                }
            }
        }

        private let loop: EventLoop
        private let request: [UInt8]
        private let tls: (context: TLSClientContext, serverName: String)?
        private var done: ((Result<ServerMetrics, any Error>) -> Void)?
        private var line: Line?
        private var timer: LoopTimer?
        private var answer: [UInt8] = []

        init(
            loop: EventLoop, request: [UInt8], tls: (TLSClientContext, String)?, patience: Duration,
            done: @escaping (Result<ServerMetrics, any Error>) -> Void
        ) {
            self.loop = loop
            self.request = request
            self.tls = tls
            self.done = done
            // The look-up is part of it: whoever asks has other things to do.
            timer = LoopTimer(loop: loop) { [self] in isOver() }
            timer?.start(after: patience)
        }

        func begin(_ found: Result<[SocketAddress], SystemError>) {
            guard done != nil else { return }
            guard case .success(let addresses) = found, let address = addresses.first else { return isOver() }
            guard let tls else { return connect(to: address) }
            do {
                let connection = try TLSConnection(
                    loop: loop, to: address, serverName: tls.serverName, context: tls.context
                ) { [self] event in
                    switch event {
                    case .connected: line?.write(request)
                    case .received(let bytes): received(bytes)
                    case .closed: isOver()
                    }
                }
                line = .secure(connection)
            } catch {
                isOver()
            }
        }

        private func connect(to address: SocketAddress) {
            let connection = TCPConnection.connect(loop: loop, to: address) { [self] event in
                switch event {
                case .connected: line?.write(request)
                case .received(let bytes): received(bytes)
                case .drained: break
                case .closed: isOver()
                }
            }
            line = .plain(connection)
        }

        private func received(_ bytes: UnsafeRawBufferPointer) {
            answer += bytes
            if answer.count > MetricsClient.largestAnswer { line?.close() }
        }

        private func isOver() {
            guard let done else { return }
            self.done = nil
            timer = nil
            line?.close()
            line = nil
            done(Result { try metrics() })
        }

        private func metrics() throws -> ServerMetrics {
            let text = String(decoding: answer, as: UTF8.self)
            guard text.hasPrefix("HTTP/1."), text.dropFirst(8).hasPrefix(" 200"),
                let end = text.firstRange(of: "\r\n\r\n")?.upperBound
            else { throw LoadError("the server gives no metrics") }
            // A number that is cut short is a number.
            guard text[end...].hasSuffix("\n"), Self.length(text[..<end]).map({ $0 == text[end...].utf8.count }) ?? true
            else { throw LoadError("the server's metrics are cut short") }
            return ServerMetrics(text: text[end...])
        }

        /// What the head of an answer says of its body, in bytes; nil when it says nothing.
        private static func length(_ head: Substring) -> Int? {
            let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
            return line.flatMap { Int($0.drop { $0 != ":" }.dropFirst().filter { $0 != " " }) }
        }
    }
}
