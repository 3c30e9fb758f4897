import AdminProtocol
import CallVocabulary
import EventLoop
import LibWebSockets

/// Runs one ``AdminSession`` over a WebSocket: passes events to it and sends its frames. Confined to the loop.
final class AdminDriver {
    private let loop: EventLoop
    private let server: AdminServer
    private var session: AdminSession
    private var context: LWSContext?
    private var connection: WebSocketClientConnection?
    private var timer: LoopTimer?

    init(loop: EventLoop, server: AdminServer, patience: Duration) {
        self.loop = loop
        self.server = server
        session = AdminSession(patience: patience)
    }

    func connect() {
        timer = LoopTimer(loop: loop) { [weak self] in self?.lookAtDeadlines() }
        do {
            let context = try LWSContext(loop: loop, role: .client(server.trust, identity: server.identity))
            self.context = context
            connection = WebSocketClientConnection.connect(
                context: context, url: server.url, unixSocket: server.socket,
                subprotocol: AdminEndpoint.subprotocol, authorization: server.authorization,
                maxMessageBytes: AdminEndpoint.longestFrame
            ) { [weak self] in self?.happened($0) }
        } catch {
            session.ended(.unreachable("\(error)"))
        }
    }

    func ask(
        _ request: some AdminRequest, _ listener: AdminSession.Listener?,
        _ completion: @escaping AdminSession.Completion
    ) {
        send(session.ask(request, now: now, listener: listener, completion))
        arm()
    }

    /// Releases everything that is bound to the loop.
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
        case .failed(let failure): session.ended(server.failure(failure))
        }
        arm()
    }

    private func send(_ frames: [[UInt8]]) {
        for frame in frames { connection?.send(frame) }
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
