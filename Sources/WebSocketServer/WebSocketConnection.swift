import LibWebSockets

/// One accepted WebSocket. Used on its shard's loop only.
///
///     open ──close(), fault, slow, silent──▶ closing ──▶ closeSent ──▶ ceased ──▶ closed
///       └───────────────the peer closes or goes───────────────────────────▲
public final class WebSocketConnection {
    enum State {
        case open
        /// A close frame is sent once what waits has gone out.
        case closing(code: UInt16, reason: String)
        /// The peer's close frame is waited for.
        case closeSent
        /// The library closes: nothing may be written any more.
        case ceased
        case closed
    }

    /// Which deadline the connection waits for.
    enum Watch {
        /// The next ping.
        case idle
        /// A sign of life after a ping.
        case pinged
        /// The end of its close.
        case closing
    }

    /// Counts the connections of the shard from 1; never used twice.
    public let serial: UInt64
    /// What the handler keeps with the connection.
    public var state: AnyObject?

    private let address: PeerAddress
    private let socket: ServerSocket
    // Proof for `unowned(unsafe)`: used while the connection is not closed, and the shard closes all of its own before
    // it goes.
    private unowned(unsafe) let shard: Shard
    private(set) var phase = State.open
    private var assembly = MessageAssembly()
    private var queue = SendQueue()
    private var owesPing = false
    var watch = Watch.idle
    var links = DeadlineLinks()
    /// Its place in ``BlockedConnections``.
    var blockedIndex: Int?

    init(serial: UInt64, socket: ServerSocket, shard: Shard) {
        self.serial = serial
        self.socket = socket
        self.shard = shard
        address = socket.peer
    }

    /// The peer's address and port; empty when the system could not tell.
    public var peer: String { address.description }

    /// Whether messages still come and go. False from `close` on, or when the peer has gone.
    public var isOpen: Bool {
        switch phase {
        case .open: true
        case .closing, .closeSent, .ceased, .closed: false
        }
    }

    /// Bytes given to `send` that neither the kernel nor the library has taken yet.
    public var queuedBytes: Int { queue.byteCount }

    /// Sends one text message, at once when nothing waits before it.
    /// - Returns: false when it was not taken: the connection is closed or closing, or its queue would pass
    ///   `maxQueuedBytes`, in which case it is now being closed with 3001 and what waited is dropped.
    @discardableResult
    public func send(_ text: [UInt8]) -> Bool {
        guard isOpen else { return false }
        if isDirect { return text.withUnsafeBytes { write($0) } }
        return enqueue(text)
    }

    /// As ``send(_:)-([UInt8])``; the bytes are copied before the call returns.
    @discardableResult
    public func send(_ text: UnsafeRawBufferPointer) -> Bool {
        guard isOpen else { return false }
        return isDirect ? write(text) : enqueue(Array(text))
    }

    /// As ``send(_:)-([UInt8])`` for each message of `batch`, in order; those that leave at once leave together.
    @discardableResult
    public func send(_ batch: FrameBatch) -> Bool {
        guard isOpen else { return false }
        if isDirect { return note(socket.write(batch), batch.count, batch.messageBytes) }
        var isTaken = true
        batch.forEachMessage { isTaken = isTaken && enqueue(Array($0)) }
        return isTaken
    }

    /// Closes with `code` once what waits has gone out, or after a few seconds whether or not it has. As much is given to
    /// the peer to answer.
    /// - Parameter reason: for humans; at most 123 bytes of it are sent.
    public func close(code: UInt16, reason: String) {
        close(after: FrameBatch(), code: code, reason: reason)
    }

    /// As ``send(_:)-(FrameBatch)`` and ``close(code:reason:)``, in one write where both leave at once.
    public func close(after batch: FrameBatch, code: UInt16, reason: String) {
        guard isOpen else { return }
        if isDirect { return sendClose(after: batch, code: code, reason: reason) }
        // Where that is too much, it is closed with 3001.
        guard send(batch) else { return }
        phase = .closing(code: code, reason: reason)
        shard.move(self, to: .closing)
        socket.requestWritable()
    }

    // MARK: Sending

    private var isDirect: Bool { queue.isEmpty && !isBlocked }

    /// Whether the library holds bytes that the kernel has not taken.
    var isBlocked: Bool { socket.isBlocked }

    /// Whether all was read that the peer will ever send.
    var peerHasEnded: Bool { socket.peerHasEnded }

    private func write(_ text: UnsafeRawBufferPointer) -> Bool {
        note(socket.write(text), 1, text.count)
    }

    /// Counts what was written, or ends the connection when it could not be.
    private func note(_ isWritten: Bool, _ messages: Int, _ bytes: Int) -> Bool {
        // After a failure the library ends the connection; it does so from its own callback.
        guard isWritten else {
            cease()
            socket.cut()
            return false
        }
        shard.counters.messagesOut.add(messages)
        shard.counters.bytesOut.add(bytes)
        if isBlocked { shard.blocked.insert(self) }
        return true
    }

    private func enqueue(_ text: [UInt8]) -> Bool {
        guard queue.byteCount + text.count <= shard.maxQueuedBytes else {
            shard.counters.slowConsumers.add()
            queue.removeAll()
            close(code: 3001, reason: "slow consumer")
            return false
        }
        queue.append(text)
        socket.requestWritable()
        shard.blocked.insert(self)
        return true
    }

    // MARK: From the shard

    func received(_ chunk: MessageChunk) {
        guard isOpen else { return }
        shard.heard(self)
        let fault = assembly.take(chunk, limit: shard.maxFrameBytes) { shard.received($0, on: self) }
        guard let fault else { return }
        shard.counters.badFrames.add()
        close(code: fault.closeCode, reason: fault.reason)
    }

    func isWritable() {
        switch phase {
        case .open, .closing: break
        case .closeSent, .ceased, .closed: return
        }
        while !socket.isBlocked {
            if owesPing {
                owesPing = false
                _ = socket.ping()
            } else if let message = queue.removeFirst() {
                guard message.withUnsafeBytes({ write($0) }) else { return }
            } else {
                guard case .closing(let code, let reason) = phase else { return }
                return sendClose(after: FrameBatch(), code: code, reason: reason)
            }
        }
        // The library calls again once it has sent what it holds.
    }

    /// Sends a close frame behind `batch`, and waits for the peer's.
    private func sendClose(after batch: FrameBatch, code: UInt16, reason: String) {
        phase = .closeSent
        shard.move(self, to: .closing)
        var frames = batch
        frames.appendClose(code: code, reason: reason)
        _ = note(socket.write(frames), batch.count, batch.messageBytes)
    }

    /// Pings now, or as soon as what the library holds has gone out.
    func ping() {
        guard isOpen else { return }
        if isBlocked {
            owesPing = true
            socket.requestWritable()
        } else {
            _ = socket.ping()
        }
        if isBlocked { shard.blocked.insert(self) }
    }

    /// Nothing may be written any more.
    func cease() {
        switch phase {
        case .open, .closing:
            phase = .ceased
            queue.removeAll()
            shard.move(self, to: .closing)
        // Its time runs already.
        case .closeSent: phase = .ceased
        case .ceased, .closed: break
        }
    }

    /// The peer has closed, or the library is about to.
    /// - Returns: whether it is the first that comes after a close frame of this side.
    func ceased() -> Bool {
        let isAnswer = if case .closeSent = phase { true } else { false }
        cease()
        return isAnswer
    }

    /// Ends the connection without a close frame.
    func cut() {
        if case .closed = phase { return }
        cease()
        socket.cut()
    }

    func closed() {
        phase = .closed
        queue.removeAll()
    }
}

@available(*, unavailable)
extension WebSocketConnection: Sendable {}
