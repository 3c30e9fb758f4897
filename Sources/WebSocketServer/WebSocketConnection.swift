import LibWebSockets

/// One accepted WebSocket. Used on its shard's loop only.
///
///     open ──close(), slow, silent──▶ closing ──▶ closeSent ──▶ ceased ──▶ closed
///       └──────────the peer closes, breaks the protocol or goes──▲
public final class WebSocketConnection {
    enum State {
        case open
        /// A close frame is sent once what waits has gone out.
        case closing(code: UInt16, reason: String)
        /// The peer's close frame is waited for.
        case closeSent
        /// Nothing more is read or written.
        case ceased
        case closed
    }

    /// Who ended a connection, and with which code.
    public enum Ending: Equatable, Sendable {
        case server(code: UInt16)
        /// With the code of its close frame, if that has one.
        case client(code: UInt16?)
        /// Neither has closed it: it broke, or was cut.
        case network
    }

    /// Counts the connections of the shard from 1; never used twice.
    public let serial: UInt64
    /// What the handler keeps with the connection.
    public var state: AnyObject?

    /// Where the client is, as a proxy in front of the server tells it where there is one.
    public let address: PeerAddress
    /// Of use once it is closed: who was the first to end it.
    public private(set) var ending = Ending.network
    // Proof for `unowned(unsafe)`: the socket owns this, and tells its end (`closed`) before it goes.
    private unowned(unsafe) let socket: ServerSocket
    // Proof for `unowned(unsafe)`: used while the connection is not closed, and the shard closes all of its own before
    // it goes.
    private unowned(unsafe) let shard: Shard
    private var phase = State.open
    private var queue = SendQueue()
    private var owesPing = false
    /// The payload of a pong that waits: only the newest is owed (RFC 6455, 5.5.3).
    private var owedPong: [UInt8]?

    init(serial: UInt64, socket: ServerSocket, shard: Shard) {
        self.serial = serial
        self.socket = socket
        self.shard = shard
        address = socket.peer
    }

    /// The peer's address and port; empty when the system could not tell.
    public var peer: String { address.description }

    /// Says that somebody answers for the client: it is not the first to go when there is no room for others. Where
    /// `vouchesForAll` is set, that holds for each from the start.
    public func vouch() {
        if case .closed = phase { return }
        shard.vouch(for: socket)
    }

    /// Whether messages still come and go. False from `close` on, or when the peer has gone.
    public var isOpen: Bool {
        switch phase {
        case .open: true
        case .closing, .closeSent, .ceased, .closed: false
        }
    }

    /// Bytes given to `send` that wait for those before them to leave.
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
        ending = .server(code: code)
        if isDirect { return sendClose(after: batch, code: code, reason: reason) }
        // Where that is too much, it is closed with 3001.
        guard send(batch) else { return }
        phase = .closing(code: code, reason: reason)
        shard.move(socket, to: .closing)
        socket.requestWritable()
    }

    // MARK: Sending

    private var isDirect: Bool { queue.isEmpty && !socket.isBlocked }

    private func write(_ text: UnsafeRawBufferPointer) -> Bool {
        note(socket.write(text), 1, text.count)
    }

    /// Counts what was written, or ends the connection when it could not be.
    private func note(_ isWritten: Bool, _ messages: Int, _ bytes: Int) -> Bool {
        guard isWritten else {
            cut()
            return false
        }
        shard.counters.messagesOut.add(messages)
        shard.counters.bytesOut.add(bytes)
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
        return true
    }

    // MARK: From the shard

    func received(_ frame: FrameReader.Frame) {
        switch frame {
        case .text(let text): if isOpen { shard.received(text, on: self) }
        case .fragment, .pong: if isOpen { _ = shard.charge(self) }
        case .ping(let payload): if isOpen, shard.charge(self), isOpen { answerPing(Array(payload)) }
        case .close(let code): peerCloses(code)
        case .fault(let fault): fail(fault)
        }
    }

    private func answerPing(_ payload: [UInt8]) {
        if socket.isBlocked { owedPong = payload } else if !socket.writeControl(10, payload) { cut() }
    }

    /// Answers with the same code, or ends what was an answer.
    private func peerCloses(_ code: UInt16?) {
        switch phase {
        case .open, .closing:
            if isOpen { ending = .client(code: code) }
            cease()
            var answer = FrameBatch()
            answer.appendClose(code: code, reason: "")
            guard socket.write(answer) else { return socket.cut() }
            socket.finish(lingering: false)
        case .closeSent:
            phase = .ceased
            socket.finish(lingering: false)
        case .ceased, .closed: break
        }
    }

    /// What follows in the stream cannot be told any more, or is not wanted.
    private func fail(_ fault: FrameFault) {
        switch phase {
        case .open, .closing:
            shard.counters.badFrames.add()
            if isOpen { ending = .server(code: fault.code) }
            cease()
            var answer = FrameBatch()
            answer.appendClose(code: fault.code, reason: fault.reason)
            guard socket.write(answer) else { return socket.cut() }
            socket.finish(lingering: true)
        case .closeSent:
            phase = .ceased
            socket.finish(lingering: false)
        case .ceased, .closed: break
        }
    }

    func isWritable() {
        switch phase {
        case .open, .closing: break
        case .closeSent, .ceased, .closed: return
        }
        while !socket.isBlocked {
            if owesPing {
                owesPing = false
                _ = socket.writeControl(9)
            } else if let payload = owedPong {
                owedPong = nil
                _ = socket.writeControl(10, payload)
            } else if let message = queue.removeFirst() {
                guard message.withUnsafeBytes({ write($0) }) else { return }
            } else {
                guard case .closing(let code, let reason) = phase else { return }
                return sendClose(after: FrameBatch(), code: code, reason: reason)
            }
        }
        // The socket calls again once it has sent what it holds.
    }

    /// Sends a close frame behind `batch`, and waits for the peer's.
    private func sendClose(after batch: FrameBatch, code: UInt16, reason: String) {
        phase = .closeSent
        shard.move(socket, to: .closing)
        var frames = batch
        frames.appendClose(code: code, reason: reason)
        _ = note(socket.write(frames), batch.count, batch.messageBytes)
    }

    /// Pings now, or as soon as what waits before it has gone out.
    func ping() {
        guard isOpen else { return }
        if socket.isBlocked {
            owesPing = true
            socket.requestWritable()
        } else if !socket.writeControl(9) {
            cut()
        }
    }

    /// Nothing may be sent any more by the handler.
    private func cease() {
        switch phase {
        case .open, .closing:
            phase = .ceased
            queue.removeAll()
            shard.move(socket, to: .closing)
        // Its time runs already.
        case .closeSent: phase = .ceased
        case .ceased, .closed: break
        }
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
