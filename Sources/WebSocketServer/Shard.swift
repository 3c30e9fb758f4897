import EventLoop
import Glibc
import LibWebSockets
import Synchronization

/// One loop's share of the connections: its lws contexts, its deadlines, its handler. Confined to the loop.
final class Shard {
    /// How long a close may take, the peer's answer included, before the connection is cut.
    private static let closeSpan = Duration.seconds(5)

    let loop: EventLoop
    let counters: ShardCounters
    let maxFrameBytes: Int
    let maxQueuedBytes: Int
    private let path: String
    /// What clients have to show; nil lets everybody in.
    private var bearerToken: BearerToken?
    private var contexts: ServerContexts?
    private var handler: (any ShardHandler)?
    private var timer: LoopTimer?
    private var turn: LoopTurn?
    /// When the timer is set to fire, in milliseconds of the loop's clock; nil while it is not.
    private var timerDeadline: UInt64?
    private var idle: DeadlineList
    private var pinged: DeadlineList
    private var closing: DeadlineList
    var blocked = BlockedConnections()
    private var lastSerial: UInt64
    /// Whether the handler was called since the last `batchEnded`.
    private var isBatchOpen = false
    private var stop: Stop?
    private var graceTimer: LoopTimer?

    /// What is left to do when the shard stops.
    private struct Stop {
        let completion: () -> Void
        var isDestroying = false
    }

    /// - Throws: ``LWSError`` when the library cannot set itself up.
    init(
        loop: EventLoop, configuration: WebSocketServer.Configuration, certificate: TLSCertificate?,
        counters: ShardCounters
    ) throws {
        loop.assertIsCurrent()
        self.loop = loop
        self.counters = counters
        maxFrameBytes = configuration.maxFrameBytes
        maxQueuedBytes = configuration.maxQueuedBytes
        path = configuration.path
        bearerToken = configuration.bearerToken
        lastSerial = configuration.firstSerial - 1
        idle = DeadlineList(span: configuration.pingInterval)
        pinged = DeadlineList(span: configuration.pingTimeout)
        closing = DeadlineList(span: Self.closeSpan)
        let role = ServerRole(
            path: configuration.path, subprotocol: configuration.subprotocol, tls: certificate, events: self)
        contexts = try ServerContexts(
            loop: loop, role: role,
            width: ServerContexts.width(
                connections: configuration.maxConnections, shards: configuration.shards, hasTLS: certificate != nil))
        timer = LoopTimer(loop: loop) { [weak self] in self?.deadlinePassed() }
        turn = LoopTurn(loop: loop) { [weak self] in self?.endTurn() }
    }

    /// Connections are taken from now on.
    func begin(with handler: any ShardHandler) {
        self.handler = handler
    }

    /// Takes over accepted descriptors, each of which `counters.held` counts already.
    func adopt(_ descriptors: [Int32]) {
        for descriptor in descriptors {
            guard let contexts, stop == nil else {
                close(descriptor)
                descriptorReleased()
                continue
            }
            guard !contexts.adopt(descriptor) else { continue }
            counters.connectionsFailed.add()
            descriptorReleased()
        }
    }

    // MARK: Changes

    /// For the handshakes to come.
    func replaceCertificate(with certificate: TLSCertificate) {
        contexts?.replaceCertificate(with: certificate)
    }

    /// For the connections to come.
    func replaceBearerToken(with token: BearerToken) {
        bearerToken = token
    }

    // MARK: Deadlines

    /// Puts `connection` at the end of another list.
    func move(_ connection: WebSocketConnection, to watch: WebSocketConnection.Watch) {
        remove(connection)
        connection.watch = watch
        let now = loop.milliseconds
        switch watch {
        case .idle: idle.append(connection, now: now)
        case .pinged: pinged.append(connection, now: now)
        case .closing: closing.append(connection, now: now)
        }
        setTimer()
    }

    private func remove(_ connection: WebSocketConnection) {
        switch connection.watch {
        case .idle: idle.remove(connection)
        case .pinged: pinged.remove(connection)
        case .closing: closing.remove(connection)
        }
    }

    /// A sign of life. Costs nothing unless a ping waits for it.
    func heard(_ connection: WebSocketConnection) {
        switch connection.watch {
        case .idle, .closing: break
        case .pinged: move(connection, to: .idle)
        }
    }

    private func setTimer() {
        let due = min(idle.deadline ?? .max, pinged.deadline ?? .max, closing.deadline ?? .max)
        // A timer that fires early finds nothing to do: cheaper than setting it at each change.
        guard due < timerDeadline ?? .max else { return }
        timerDeadline = due
        let now = loop.milliseconds
        timer?.start(after: .milliseconds(Int64(due > now ? due - now : 0)))
    }

    private func deadlinePassed() {
        timerDeadline = nil
        let now = loop.milliseconds
        while let connection = closing.first, connection.links.deadline <= now {
            // Stays in the list until it is closed; at its end, so that this loop goes on.
            closing.remove(connection)
            closing.append(connection, now: now)
            connection.cut()
        }
        while let connection = pinged.first, connection.links.deadline <= now {
            counters.pingTimeouts.add()
            connection.close(code: 3002, reason: "no answer to ping")
        }
        while let connection = idle.first, connection.links.deadline <= now {
            move(connection, to: .pinged)
            connection.ping()
        }
        setTimer()
    }

    // MARK: Handler

    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {
        counters.messagesIn.add()
        counters.bytesIn.add(text.count)
        isBatchOpen = true
        handler?.received(text, on: connection)
    }

    private func endTurn() {
        blocked.ended(inTurn: loop.turnNumber)?.cut()
        endBatch()
    }

    private func endBatch() {
        guard isBatchOpen else { return }
        isBatchOpen = false
        handler?.batchEnded()
    }

    // MARK: End

    /// Closes all connections with `code`, cuts those that are left after `grace`, and lets go of everything.
    /// - Parameter completion: runs on the loop at the end.
    func stop(code: UInt16, reason: String, grace: Duration, completion: @escaping () -> Void) {
        guard stop == nil else { return completion() }
        stop = Stop(completion: completion)
        while let connection = idle.first { connection.close(code: code, reason: reason) }
        while let connection = pinged.first { connection.close(code: code, reason: reason) }
        graceTimer = LoopTimer(loop: loop) { [weak self] in self?.destroy() }
        graceTimer?.start(after: grace)
        destroyIfEmpty()
    }

    private func destroyIfEmpty() {
        if stop != nil, counters.held.load(ordering: .relaxed) == 0 { destroy() }
    }

    private func destroy() {
        guard let stop, !stop.isDestroying, let contexts else { return }
        self.stop?.isDestroying = true
        contexts.destroy { self.finish() }
    }

    private func finish() {
        endBatch()
        contexts = nil
        timer = nil
        graceTimer = nil
        turn = nil
        handler = nil
        stop?.completion()
    }
}

extension Shard: ServerSocketEvents {
    func socketOpened(_ socket: ServerSocket) -> AnyObject {
        lastSerial += 1
        let connection = WebSocketConnection(serial: lastSerial, socket: socket, shard: self)
        counters.opened.add()
        idle.append(connection, now: loop.milliseconds)
        setTimer()
        isBatchOpen = true
        handler?.connectionOpened(connection)
        if stop != nil { connection.cut() }
        return connection
    }

    func socketReceived(_ chunk: MessageChunk, owner: AnyObject) { connection(owner).received(chunk) }

    func socketAnswered(owner: AnyObject) { heard(connection(owner)) }

    func socketIsWritable(owner: AnyObject) { connection(owner).isWritable() }

    func socketCeased(owner: AnyObject) -> Bool { connection(owner).ceased() }

    func socketClosed(owner: AnyObject) {
        let connection = connection(owner)
        remove(connection)
        blocked.remove(connection)
        connection.closed()
        counters.closed.add()
        isBatchOpen = true
        handler?.connectionClosed(connection)
    }

    func refusal(authorization: String?) -> HTTPResponse? {
        guard let bearerToken, !bearerToken.isShown(by: authorization) else { return nil }
        return BearerToken.refusal
    }

    func handshakeRefused() { counters.handshakesRefused.add() }

    func descriptorReleased() {
        counters.held.subtract(1, ordering: .relaxed)
        destroyIfEmpty()
    }

    func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {
        counters.requests.add()
        if let refusal = refusal(authorization: request.authorization) { return responder.respond(refusal) }
        guard request.path != path else {
            return responder.respond(
                HTTPResponse(
                    status: 426, contentType: "text/plain", headers: [("Upgrade", "websocket")],
                    body: Array("this path speaks WebSocket\n".utf8)))
        }
        isBatchOpen = true
        handler?.requested(request, responder)
    }

    /// What `socketOpened` returned comes back as `owner`, and nothing else does.
    private func connection(_ owner: AnyObject) -> WebSocketConnection {
        unsafeDowncast(owner, to: WebSocketConnection.self)
    }
}

@available(*, unavailable)
extension Shard: Sendable {}
