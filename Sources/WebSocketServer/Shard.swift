import EventLoop
import Glibc
import LibWebSockets
import Synchronization
import TLS

/// One loop's part of the connections: lws contexts, deadlines, handler. Confined to the loop.
final class Shard {
    /// The longest duration of a close, including the peer's answer; then the connection is cut.
    private static let closeSpan = Duration.seconds(5)
    /// The time for a client to close its half after its answer.
    private static let discardSpan = Duration.seconds(2)
    /// The time for the next request on a connection of plain HTTP. Longer than clients keep unused connections, which
    /// otherwise send a request just as the server closes.
    static let keptSpan = Duration.seconds(75)

    let loop: EventLoop
    let counters: ShardCounters
    let maxFrameBytes: Int
    let maxQueuedBytes: Int
    private let path: String
    private let hasTLS: Bool
    private let vouchesForAll: Bool
    private let shares: AddressShares
    private let pressure: ConnectionPressure
    /// The token required from clients; nil accepts all.
    private var bearerToken: BearerToken?
    private var readingToken: BearerToken?
    private let isPublic: @Sendable (_ path: String) -> Bool
    private let refusalForm: @Sendable (HTTPResponse) -> HTTPResponse
    private let onUnlistedProxy: @Sendable () -> Void
    /// The token of the listener that the request being answered shows. A handshake opens its connection in the same
    /// call.
    private var shownToken: BearerToken?
    private var contexts: ServerContexts?
    private var handler: (any ShardHandler)?
    private var timer: LoopTimer?
    private var turn: LoopTurn?
    /// When the timer fires, in milliseconds of the loop's clock; nil while it is stopped.
    private var timerDeadline: UInt64?
    private var requests: DeadlineList
    private var answers: DeadlineList
    private var kept = DeadlineList(span: Shard.keptSpan)
    private var discards: DeadlineList
    private var idle: DeadlineList
    private var pinged: DeadlineList
    private var messages: DeadlineList
    private var closing: DeadlineList
    /// Unvouched connections, the oldest first. They have no deadline in this list.
    private var strangers = DeadlineList(span: .zero, place: 1)
    /// Connections with unread bytes, the one that has read nothing for the longest time first. They have no deadline
    /// in this list.
    private var slowReaders = DeadlineList(span: .zero, place: 2)
    private let unreadLimit: UnreadLimit
    /// Deadlines up to this time are checked once all bytes received by then are read; nil while none is due.
    private var judgedUpTo: UInt64?
    private var lastSerial: UInt64
    /// Whether the handler was called since the last `batchEnded`.
    private var isBatchOpen = false
    private var stop: Stop?
    private var graceTimer: LoopTimer?

    /// The remaining work of a stopping shard.
    private struct Stop {
        let completion: () -> Void
        var isDestroying = false
    }

    /// - Throws: ``LWSError`` when libwebsockets cannot initialize.
    init(
        loop: EventLoop, configuration: WebSocketServer.Configuration, certificate: TLSCertificate?,
        counters: ShardCounters, shares: AddressShares, pressure: ConnectionPressure, unreadLimit: UnreadLimit
    ) throws {
        loop.assertIsCurrent()
        self.loop = loop
        self.counters = counters
        maxFrameBytes = configuration.maxFrameBytes
        maxQueuedBytes = configuration.maxQueuedBytes
        path = configuration.path
        vouchesForAll = configuration.vouchesForAll
        hasTLS = certificate != nil
        self.shares = shares
        self.pressure = pressure
        self.unreadLimit = unreadLimit
        bearerToken = configuration.bearerToken
        readingToken = configuration.readingToken
        isPublic = configuration.isPublic
        refusalForm = configuration.refusalForm
        onUnlistedProxy = configuration.onUnlistedProxy
        lastSerial = configuration.firstSerial - 1
        requests = DeadlineList(span: configuration.requestTimeout)
        answers = DeadlineList(span: configuration.answerTimeout)
        discards = DeadlineList(span: Self.discardSpan)
        idle = DeadlineList(span: configuration.pingInterval)
        pinged = DeadlineList(span: configuration.pingTimeout)
        messages = DeadlineList(span: configuration.requestTimeout)
        closing = DeadlineList(span: Self.closeSpan)
        let role = ServerRole(
            path: configuration.path, upgradeRefusal: configuration.upgradeRefusal,
            subprotocol: configuration.subprotocol, origins: configuration.origins,
            maxFrameBytes: configuration.maxFrameBytes, reservedPaths: configuration.reservedPaths,
            refusalForm: configuration.refusalForm, tls: certificate, clients: configuration.clientAuthorities,
            events: self)
        contexts = try ServerContexts(
            loop: loop, role: role,
            width: ServerContexts.width(
                connections: configuration.maxConnections, shards: configuration.shards, hasTLS: certificate != nil))
        timer = LoopTimer(loop: loop) { [weak self] in self?.deadlinePassed() }
        turn = LoopTurn(loop: loop) { [weak self] in self?.endBatch() }
    }

    /// Accepts connections from now on.
    func begin(with handler: any ShardHandler) {
        self.handler = handler
    }

    /// Adopts accepted descriptors. `counters.held` and the address limits count them already.
    func adopt(_ accepted: [Listener.Accepted]) {
        for (descriptor, admission) in accepted {
            // Only after the connection is in the list of unvouched ones.
            defer { counters.arriving.subtract(1, ordering: .relaxed) }
            guard let contexts, stop == nil else {
                close(descriptor)
                released(admission.network)
                continue
            }
            let arrival = hasTLS ? Arrival(descriptor, headerBytes: admission.headerBytes) : nil
            guard !contexts.adopt(descriptor, as: admission) else { continue }
            counters.connectionsFailed.add()
            // The first bytes are no valid TLS handshake. A load balancer's check sends none.
            if let arrival, arrival.hasBytes {
                let cause: HandshakeRefusal.Cause = arrival.hasStrayHeader ? .strayProxyHeader : .tls
                handshakeRefused(HandshakeRefusal(peer: admission.peer, cause: cause))
            }
            released(admission.network)
        }
    }

    private func released(_ network: PeerAddress?) {
        counters.held.subtract(1, ordering: .relaxed)
        if let network { shares.giveBack(network) }
        destroyIfEmpty()
    }

    /// Evicts a connection to make room for another.
    func evictOldest() {
        counters.evicting.subtract(1, ordering: .relaxed)
        guard let socket = strangers.first else {
            counters.leaving.subtract(1, ordering: .relaxed)
            return
        }
        vouch(for: socket)
        socket.isEvicted = true
        cut(socket)
    }

    private func estrange(_ socket: ServerSocket) {
        guard !socket.isStranger, !socket.isEvicted else { return }
        socket.isStranger = true
        strangers.append(socket, now: loop.milliseconds)
        counters.strangers.add(1, ordering: .relaxed)
    }

    /// Removes the connection from the list of unvouched ones.
    func vouch(for socket: ServerSocket) {
        guard socket.isStranger else { return }
        socket.isStranger = false
        strangers.remove(socket)
        counters.strangers.subtract(1, ordering: .relaxed)
    }

    // MARK: Changes

    /// Applies to new handshakes.
    func replaceCertificate(with certificate: TLSCertificate) {
        contexts?.replaceCertificate(with: certificate)
    }

    /// Applies to new connections, and closes those of tokens that are gone.
    func replaceBearerToken(with token: BearerToken, reading: BearerToken?) {
        bearerToken = token
        readingToken = reading
        for socket in idle.due(at: .max) + pinged.due(at: .max) + messages.due(at: .max) {
            guard let connection = connection(socket), connection.token != (connection.isReading ? reading : token)
            else { continue }
            connection.close(code: 3500, reason: "another token is needed")
        }
    }

    // MARK: Deadlines

    /// Moves `socket` to the end of another list, or of the same.
    func move(_ socket: ServerSocket, to watch: ServerSocket.Watch) {
        withList(socket.watch) { $0.remove(socket) }
        socket.watch = watch
        let now = loop.milliseconds
        withList(watch) { $0.append(socket, now: now) }
        setTimer()
    }

    private func withList(_ watch: ServerSocket.Watch, _ body: (inout DeadlineList) -> Void) {
        switch watch {
        case .request: body(&requests)
        case .work, .answer: body(&answers)
        case .kept: body(&kept)
        case .discard: body(&discards)
        case .idle: body(&idle)
        case .pinged: body(&pinged)
        case .message: body(&messages)
        case .closing: body(&closing)
        }
    }

    /// `.max` when there are no deadlines.
    private var nextDeadline: UInt64 {
        let http = min(
            requests.deadline ?? .max, answers.deadline ?? .max, kept.deadline ?? .max, discards.deadline ?? .max)
        return min(
            http, idle.deadline ?? .max, pinged.deadline ?? .max, messages.deadline ?? .max, closing.deadline ?? .max)
    }

    private func setTimer() {
        // A timer that fires early finds nothing due; that is cheaper than resetting it at each change.
        let due = nextDeadline
        guard judgedUpTo == nil, due < timerDeadline ?? .max else { return }
        timerDeadline = due
        let now = loop.milliseconds
        timer?.start(after: .milliseconds(Int64(due > now ? due - now : 0)))
    }

    /// Reads all received bytes before it checks deadlines: after the process was stopped, answers wait in the kernel.
    private func deadlinePassed() {
        timerDeadline = nil
        guard judgedUpTo == nil else { return }
        judgedUpTo = loop.milliseconds
        loop.afterReading { [weak self] in self?.judge() }
    }

    private func judge() {
        guard let now = judgedUpTo else { return }
        let http = requests.due(at: now) + answers.due(at: now) + kept.due(at: now) + discards.due(at: now)
        for socket in closing.due(at: now) + http {
            if socket.watch == .request { counters.unfinished.add() }
            // Stays in its list, at the end, until it is released.
            move(socket, to: socket.watch)
            cut(socket)
        }
        for socket in messages.due(at: now) {
            counters.unfinished.add()
            connection(socket)?.close(code: 3002, reason: "a message that does not end")
        }
        for socket in pinged.due(at: now) {
            // More connections have input than one turn reads.
            if socket.hasUnread {
                move(socket, to: .idle)
                continue
            }
            counters.pingTimeouts.add()
            // Nobody reads the close frame, as far as the server knows: the client is offline from now on.
            connection(socket)?.end(code: 3002, reason: "no answer to ping")
        }
        for socket in idle.due(at: now) {
            move(socket, to: .pinged)
            connection(socket)?.ping()
        }
        judgedUpTo = nil
        setTimer()
    }

    private func connection(_ socket: ServerSocket) -> WebSocketConnection? {
        socket.owner.map(connection)
    }

    // MARK: Handler

    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {
        counters.messagesIn.add()
        counters.bytesIn.add(text.count)
        isBatchOpen = true
        handler?.received(text, on: connection)
    }

    /// Passes a control frame to the handler, which charges it to the client's rate limit.
    /// - Returns: whether to answer the frame.
    func charge(_ connection: WebSocketConnection) -> Bool {
        isBatchOpen = true
        return handler?.takesControlFrame(on: connection) ?? false
    }

    private func endBatch() {
        guard isBatchOpen else { return }
        isBatchOpen = false
        handler?.batchEnded()
    }

    // MARK: Stop

    /// Closes all connections with `code`, cuts the rest after `grace`, and releases everything.
    /// - Parameter completion: runs on the loop at the end.
    func stop(code: UInt16, reason: String, grace: Duration, completion: @escaping () -> Void) {
        guard stop == nil else { return completion() }
        stop = Stop(completion: completion)
        let open = idle.due(at: .max) + pinged.due(at: .max) + messages.due(at: .max)
        for socket in open { connection(socket)?.close(code: code, reason: reason) }
        for socket in kept.due(at: .max) { socket.cut() }
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
    func socketAdopted(_ socket: ServerSocket) {
        let now = loop.milliseconds
        requests.append(socket, now: now)
        estrange(socket)
        setTimer()
    }

    func watch(_ socket: ServerSocket, _ watch: ServerSocket.Watch) {
        switch watch {
        // The handler has the request, and limits it itself.
        case .work: vouch(for: socket)
        // A client that does not read its answer may be evicted.
        case .answer, .discard: estrange(socket)
        case .kept:
            estrange(socket)
            if stop != nil { return socket.cut() }
        case .request where socket.watch != .kept: return
        case .request, .idle, .pinged, .message, .closing: break
        }
        move(socket, to: watch)
    }

    func socketOpened(_ socket: ServerSocket) -> AnyObject {
        lastSerial += 1
        let isReading = shownToken != nil && shownToken == readingToken
        let connection = WebSocketConnection(
            serial: lastSerial, socket: socket, shard: self, token: shownToken, isReading: isReading)
        counters.opened.add()
        move(socket, to: .idle)
        if vouchesForAll { vouch(for: socket) }
        isBatchOpen = true
        handler?.connectionOpened(connection)
        if stop != nil { connection.cut() }
        return connection
    }

    func socketReceived(_ frame: FrameReader.Frame, owner: AnyObject) { connection(owner).received(frame) }

    func socketRead(_ socket: ServerSocket, messages: Int, isInMessage: Bool) {
        switch socket.watch {
        case .idle: if isInMessage { move(socket, to: .message) }
        case .pinged: move(socket, to: isInMessage ? .message : .idle)
        case .message: if messages > 0 || !isInMessage { move(socket, to: isInMessage ? .message : .idle) }
        case .request, .work, .answer, .kept, .discard, .closing: break
        }
    }

    func socketUnread(_ socket: ServerSocket, change: Int) {
        // Only a client that has read something moves behind the others.
        let isNew = socket.unreadBytes == change
        if !isNew, change < 0 { slowReaders.remove(socket) }
        if socket.unreadBytes > 0, isNew || change < 0 { slowReaders.append(socket, now: loop.milliseconds) }
        let unread = counters.unread.add(change, ordering: .relaxed).newValue
        if change > 0, unread > unreadLimit.bytesPerShard { closeSlowReaders() }
    }

    /// Closes the slowest readers until the unread bytes of the others are within the limit.
    private func closeSlowReaders() {
        while counters.unread.load(ordering: .relaxed) > unreadLimit.bytesPerShard, let socket = slowReaders.first {
            let connection = connection(socket)
            if let connection, connection.isOpen, connection.queuedBytes > 0 {
                connection.endSlowReader()
                continue
            }
            // Without a queue, a close frame would wait behind all that is unread.
            if connection?.isOpen ?? true { counters.slowConsumers.add() }
            cut(socket)
        }
    }

    /// Cuts a connection and drops its output.
    private func cut(_ socket: ServerSocket) {
        if let connection = connection(socket) { connection.cut() } else { socket.cut() }
    }

    func socketIsWritable(owner: AnyObject) { connection(owner).isWritable() }

    func socketClosed(owner: AnyObject) {
        let connection = connection(owner)
        connection.closed()
        counters.closed.add()
        isBatchOpen = true
        handler?.connectionClosed(connection)
    }

    func socketReleased(_ socket: ServerSocket) {
        if socket.hasFailedTLS { handshakeRefused(HandshakeRefusal(peer: socket.peer, cause: .tls)) }
        withList(socket.watch) { $0.remove(socket) }
        vouch(for: socket)
        if socket.isEvicted { counters.leaving.subtract(1, ordering: .relaxed) }
        released(socket.network)
    }

    func unlistedProxySent() { onUnlistedProxy() }

    func admitsForwarded(_ socket: ServerSocket) -> Bool {
        // Its proxy has no share. A socket whose proxy has one, because it is not trusted any more, keeps that.
        guard socket.network == nil, let proxies = socket.admission.proxies,
            let network = socket.peer.limited(behind: proxies)
        else { return true }
        if let cause = shares.take(network, now: loop.milliseconds) {
            pressure.note(cause, peer: socket.peer)
            return false
        }
        socket.network = network
        return true
    }

    func clientUnreadable(_ entry: String, from peer: PeerAddress) {
        pressure.note(.unreadable, peer: peer, detail: entry)
    }

    func clientUntold(by peer: PeerAddress) { pressure.note(.unforwarded, peer: peer) }

    func refusal(of credentials: Credentials) -> HTTPResponse? {
        guard let bearerToken else { return nil }
        shownToken = [readingToken, bearerToken].compactMap(\.self).first { $0.isShown(by: credentials) }
        return shownToken == nil ? BearerToken.refusal : nil
    }

    func rateRefusal(of request: HTTPRequest) -> HTTPResponse? { handler?.rateRefusal(of: request) }

    func handshakeRefused(_ refusal: HandshakeRefusal) {
        counters.handshakesRefused.add()
        handler?.handshakeRefused(refusal)
    }

    func requestRefused(status: Int) { handler?.requestRefused(status: status) }

    func requestBegan(_ request: HTTPRequest, _ responder: HTTPResponder) {
        if let refusal = refusal(of: request) {
            counters.requests.add()
            return responder.respond(refusal)
        }
        isBatchOpen = true
        handler?.requestBegan(request, responder)
    }

    func requested(_ request: HTTPRequest, _ responder: HTTPResponder) {
        counters.requests.add()
        if let refusal = refusal(of: request) { return responder.respond(refusal) }
        isBatchOpen = true
        handler?.requested(request, responder)
    }

    private func refusal(of request: HTTPRequest) -> HTTPResponse? {
        let credentials = Credentials(authorization: request.authorization)
        if !isPublic(request.path), let refusal = refusal(of: credentials) {
            handler?.handshakeRefused(HandshakeRefusal(peer: request.peer, cause: .status(refusal.status)))
            return refusal
        }
        guard request.path == path else { return nil }
        if let refusal = rateRefusal(of: request) { return refusal }
        handshakeRefused(HandshakeRefusal(peer: request.peer, cause: .noUpgrade))
        return refusalForm(
            HTTPResponse(
                status: 426, contentType: "text/plain", headers: [("Upgrade", "websocket")],
                body: Array("this path speaks WebSocket\n".utf8)))
    }

    /// `owner` is always the value that `socketOpened` returned.
    private func connection(_ owner: AnyObject) -> WebSocketConnection {
        unsafeDowncast(owner, to: WebSocketConnection.self)
    }
}

@available(*, unavailable)
extension Shard: Sendable {}
