import CallVocabulary
import EventLoop
import Glibc
import LibWebSockets
import SignalProtocol

/// Runs one ``AdminSession`` over a WebSocket on a loop: gives it what happens, sends what it wants to say. On the
/// loop's thread.
final class AdminDriver {
    typealias Page = AdminSession.Page

    /// The host is what HTTP/1.1 asks for; nobody looks at it.
    private static let url = WebSocketURL(isSecure: false, host: "localhost", port: 80, path: AdminProtocol.path)

    private let loop: EventLoop
    private let socket: SocketAddress
    private var session: AdminSession
    private var context: LWSContext?
    private var connection: WebSocketClientConnection?
    private var timer: LoopTimer?

    init(loop: EventLoop, socket: SocketAddress, patience: Duration) {
        self.loop = loop
        self.socket = socket
        session = AdminSession(patience: patience)
    }

    func connect() {
        timer = LoopTimer(loop: loop) { [weak self] in self?.lookAtDeadlines() }
        do {
            let context = try LWSContext(loop: loop, role: .client(.system))
            self.context = context
            connection = WebSocketClientConnection.connect(
                context: context, url: Self.url, unixSocket: socket, subprotocol: AdminProtocol.subprotocol,
                maxMessageBytes: AdminLimits.frame
            ) { [weak self] in self?.happened($0) }
        } catch {
            session.ended(.unreachable("\(error)"))
        }
    }

    func ask(_ request: AdminRequest, _ completion: @escaping @Sendable (Result<Page, AdminFailure>) -> Void) {
        send(session.ask(request, now: now, completion))
        arm()
    }

    /// Lets go of everything that is bound to the loop.
    func close() {
        session.ended(.lost("the client is closed"))
        timer = nil
        connection?.close(code: 1000, reason: "")
        connection = nil
        context?.destroy()
        context = nil
    }

    private func happened(_ event: WebSocketClientConnection.Event) {
        switch event {
        case .opened: send(session.opened())
        case .received(let text): session.received(text)
        case .closed(let code, let reason):
            let words = reason.isEmpty ? "the connection was closed\(code.map { " (\($0))" } ?? "")" : reason
            session.ended(.lost(words))
        case .failed(let words): session.ended(reason(words))
        }
        arm()
    }

    private func send(_ frames: [[UInt8]]) {
        for frame in frames { connection?.send(frame) }
    }

    /// The library only says that it did not get there.
    private func reason(_ words: String) -> AdminFailure {
        let path = socket.description
        do {
            try socket.probe()
            return .unreachable("\(path) is answered, but not by an admin API of this version (\(words))")
        } catch {
            switch error.errno {
            case ENOENT, ECONNREFUSED, ENOTDIR: return .notRunning(socket: path)
            case EACCES, EPERM: return .notAllowed(socket: path)
            default: return .unreachable("\(error)")
            }
        }
    }

    // MARK: Time

    private var now: Duration { .milliseconds(Int64(clamping: loop.milliseconds)) }

    private func arm() {
        guard let deadline = session.nextDeadline else { return timer?.stop() ?? () }
        timer?.start(after: max(.zero, deadline - now))
    }

    private func lookAtDeadlines() {
        session.lookAtDeadlines(now: now)
        arm()
    }
}

@available(*, unavailable)
extension AdminDriver: Sendable {}
