import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// WebSockets of `URLSessionWebSocketTask`.
///
/// `URLSession` answers the server's pings by itself and does not show them; the session probes a silent server with a
/// request of its own.
///
/// On Linux this compiles, and connects only where Swift's Foundation was built with WebSockets: the toolchain for
/// Debian 12 was not (6.3.1: `CFURLSessionWebSocketsSupported` is false, whichever libcurl is installed), and each
/// connection fails with "WebSockets not supported by libcurl". Foundation's `CloseCode` on Linux also lacks the
/// protocol's own codes, 3000 and above; Apple's keeps them.
public struct URLSessionTransport: WebSocketTransport {
    private let configuration: @Sendable () -> URLSessionConfiguration

    /// - Parameter configuration: makes the configuration of each connection's session, for proxies, or for trust by a
    ///   managed device's own settings. The timeouts of a request are replaced.
    public init(_ configuration: @escaping @Sendable () -> URLSessionConfiguration = { .ephemeral }) {
        self.configuration = configuration
    }

    public func connect(
        to url: URL, subprotocol: String, onEvent: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketConnection {
        let configuration = configuration()
        // The session has shorter timeouts of its own, and a longer silence than the default of 60 s is normal.
        configuration.timeoutIntervalForRequest = 600
        return URLSessionConnection(
            to: url, subprotocol: subprotocol, configuration: configuration, onEvent: onEvent)
    }
}

/// One task, with a `URLSession` of its own as its delegate belongs to the session.
//
// Proof: `task` and `session` are set in `init` alone and are safe for any thread; `hasEnded` is used on `queue`.
private final class URLSessionConnection: NSObject, WebSocketConnection, URLSessionWebSocketDelegate,
    @unchecked Sendable
{
    private let queue = DispatchQueue(label: "reveille.websocket")
    private let subprotocol: String
    private let onEvent: @Sendable (WebSocketEvent) -> Void
    private var session: URLSession!
    private var task: URLSessionWebSocketTask!
    private var hasEnded = false

    /// How long after a failed read or write the delegate may still tell the close code.
    private static let closeCodeDelay = DispatchTimeInterval.milliseconds(500)

    init(
        to url: URL, subprotocol: String, configuration: URLSessionConfiguration,
        onEvent: @escaping @Sendable (WebSocketEvent) -> Void
    ) {
        self.subprotocol = subprotocol
        self.onEvent = onEvent
        super.init()
        let calls = OperationQueue()
        calls.maxConcurrentOperationCount = 1
        calls.underlyingQueue = queue
        // The session retains its delegate until it is invalidated, in `end`.
        session = URLSession(configuration: configuration, delegate: self, delegateQueue: calls)
        task = session.webSocketTask(with: url, protocols: [subprotocol])
        task.resume()
    }

    func send(_ text: String) {
        task.send(.string(text)) { [weak self] error in
            if let error { self?.failed(error) }
        }
    }

    func close(code: UInt16) {
        // Apple's enum takes any code; Foundation's on Linux only those of RFC 6455.
        task.cancel(with: URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) ?? .goingAway, reason: nil)
    }

    private func receive() {
        task.receive { [weak self] result in
            guard let self else { return }
            queue.async { self.received(result) }
        }
    }

    private func received(_ result: Result<URLSessionWebSocketTask.Message, any Error>) {
        guard !hasEnded else { return }
        switch result {
        case .success(.string(let text)): onEvent(.received(Array(text.utf8)))
        case .success: onEvent(.receivedBinary)
        case .failure(let error): return failed(error)
        }
        receive()
    }

    /// Waits for the delegate's call, which has the close code. Without one, reports the error alone.
    private func failed(_ error: any Error) {
        let reason = error.localizedDescription
        queue.asyncAfter(deadline: .now() + Self.closeCodeDelay) { self.end(nil, reason) }
    }

    private func end(_ code: Int?, _ reason: String) {
        guard !hasEnded else { return }
        hasEnded = true
        // 1005 and 1006 stand for "no close frame" and are never sent.
        let known = code.flatMap { UInt16(exactly: $0) }.flatMap { [0, 1005, 1006].contains($0) ? nil : $0 }
        onEvent(.closed(code: known, reason: reason))
        session.invalidateAndCancel()
    }

    // MARK: The delegate, on `queue`

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol chosen: String?
    ) {
        guard !hasEnded else { return }
        guard chosen == subprotocol else { return end(nil, "the server does not speak \(subprotocol)") }
        onEvent(.opened)
        receive()
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        end(closeCode.rawValue, reason.map { String(decoding: $0, as: UTF8.self) } ?? "")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        end(self.task.closeCode.rawValue, error?.localizedDescription ?? "the connection was closed")
    }
}
