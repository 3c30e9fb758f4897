import LibWebSockets

/// One accepted WebSocket. Used on its shard's loop only.
///
///     open ──close(), slow, silent──▶ closing ──▶ closeSent ──▶ ceased ──▶ closed
///       └──────────the peer closes, breaks the protocol or goes──▲
public final class WebSocketConnection {
    enum State {
        case open
        /// A close frame follows the queued messages.
        case closing(code: UInt16, reason: String)
        /// Waits for the peer's close frame.
        case closeSent
        /// Nothing is read or written any more.
        case ceased
        case closed
    }

    /// The side that ended a connection, with its close code.
    public enum Ending: Equatable, Sendable {
        case server(code: UInt16)
        /// The code is that of the client's close frame, if it has one.
        case client(code: UInt16?)
        /// No side closed the connection: it broke, or was cut.
        case network
    }

    /// The number of the connection on its shard, from 1; never reused.
    public let serial: UInt64
    /// The handler's state for the connection.
    public var state: AnyObject?

    /// The client's address, as reported by a trusted proxy if there is one.
    public let address: PeerAddress
    /// The token of the listener that the client showed; nil for a listener without one.
    let token: BearerToken?
    /// Whether that is the token for reading.
    public let isReading: Bool
    /// The key for limits by address; nil for an address without one.
    public let network: PeerAddress?
    /// The side that ended the connection first. Valid once it is closed.
    public private(set) var ending = Ending.network
    // Proof for `unowned(unsafe)`: the socket owns this, and tells its end (`closed`) before it goes.
    private unowned(unsafe) let socket: ServerSocket
    // Proof for `unowned(unsafe)`: used while the connection is not closed, and the shard closes all of its own before
    // it goes.
    private unowned(unsafe) let shard: Shard
    private var phase = State.open
    private var queue = SendQueue()
    private var owesPing = false
    /// The payload of a queued pong: only the newest must be answered (RFC 6455 §5.5.3).
    private var owedPong: [UInt8]?

    init(serial: UInt64, socket: ServerSocket, shard: Shard, token: BearerToken?, isReading: Bool) {
        self.serial = serial
        self.socket = socket
        self.shard = shard
        address = socket.peer
        self.token = token
        self.isReading = isReading
        network = socket.network
    }

    /// The peer's address and port; empty if unknown.
    public var peer: String { address.description }

    /// Marks the client as vouched for: the connection is not evicted to make room for others. With `vouchesForAll`,
    /// every connection is vouched for from the start.
    public func vouch() {
        if case .closed = phase { return }
        shard.vouch(for: socket)
    }

    /// The longest message that the client may send, in bytes; nil for the listener's limit.
    public var maxFrameBytes: Int? {
        get { socket.maxFrameBytes }
        set { socket.maxFrameBytes = newValue }
    }

    /// Whether messages are received and sent. False after `close`, or once the peer has closed.
    public var isOpen: Bool {
        switch phase {
        case .open: true
        case .closing, .closeSent, .ceased, .closed: false
        }
    }

    /// Bytes of queued messages, without those of ``send(later:)``.
    public var queuedBytes: Int { queue.byteCount }

    /// Whether the client has not read all that was sent to it, as far as its socket tells.
    public var isBehind: Bool { !isDirect }

    /// Sends one text message, at once if nothing is queued.
    /// - Returns: false when it was not accepted: the connection is closed or closing, or its queue would exceed
    ///   `maxQueuedBytes`. In the latter case the queue is dropped and the connection closes with 3001.
    @discardableResult
    public func send(_ text: [UInt8]) -> Bool {
        guard isOpen else { return false }
        if isDirect { return text.withUnsafeBytes { write($0) } }
        return enqueue(text)
    }

    /// As ``send(_:)-([UInt8])``; copies the bytes.
    @discardableResult
    public func send(_ text: UnsafeRawBufferPointer) -> Bool {
        guard isOpen else { return false }
        return isDirect ? write(text) : enqueue(Array(text))
    }

    /// As ``send(_:)-([UInt8])`` for each message of `batch`, in order, with one write where possible.
    @discardableResult
    public func send(_ batch: FrameBatch) -> Bool {
        guard isOpen else { return false }
        if isDirect { return note(socket.write(batch), batch.count, batch.messageBytes) }
        var isTaken = true
        batch.forEachMessage { isTaken = isTaken && enqueue(Array($0)) }
        return isTaken
    }

    /// Sends one text message, which `write` makes once the client has read what was sent before. Until then it takes no
    /// memory for its bytes and counts against no limit: for what a client has to be told at once, whatever its speed. The
    /// number of such messages is the caller's to bound.
    public func send(later write: @escaping (inout [UInt8]) -> Void) {
        guard isOpen else { return }
        guard !isDirect else {
            var text: [UInt8] = []
            write(&text)
            send(text)
            return
        }
        queue.append(late: write)
        socket.requestWritable()
    }

    /// Closes with `code` after the queued messages, or after a few seconds. The peer has the same time to answer.
    /// - Parameter reason: for people; at most 123 bytes are sent.
    public func close(code: UInt16, reason: String) {
        close(after: FrameBatch(), code: code, reason: reason)
    }

    /// Closes with `code`, and does not wait for the peer: the connection ends at once.
    public func end(code: UInt16, reason: String) {
        close(code: code, reason: reason)
        cut()
    }

    /// As ``send(_:)-(FrameBatch)`` and ``close(code:reason:)``, with one write where possible.
    public func close(after batch: FrameBatch, code: UInt16, reason: String) {
        guard isOpen else { return }
        ending = .server(code: code)
        if isDirect { return sendClose(after: batch, code: code, reason: reason) }
        // If the queue would exceed its limit, the connection closes with 3001.
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

    /// Counts written messages, or ends the connection after a failed write.
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
            endSlowReader()
            return false
        }
        queue.append(text)
        socket.requestWritable()
        // This may close this connection.
        socket.queuedBytes = queue.byteCount
        return isOpen
    }

    /// Drops the queue of a client that does not read, and closes with 3001.
    func endSlowReader() {
        shard.counters.slowConsumers.add()
        dropQueue()
        close(code: 3001, reason: "slow consumer")
    }

    private func dropQueue() {
        queue.removeAll()
        socket.queuedBytes = 0
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

    /// Answers with the same code, or completes a close that this side began.
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

    /// Closes after a fault: the rest of the stream is unreadable or unwanted.
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
                socket.queuedBytes = queue.byteCount
                guard message.withUnsafeBytes({ write($0) }) else { return }
            } else {
                guard case .closing(let code, let reason) = phase else { return }
                return sendClose(after: FrameBatch(), code: code, reason: reason)
            }
        }
        // The socket calls again once it has sent its buffered bytes.
    }

    /// Sends a close frame after `batch`, and waits for the peer's.
    private func sendClose(after batch: FrameBatch, code: UInt16, reason: String) {
        phase = .closeSent
        shard.move(socket, to: .closing)
        var frames = batch
        frames.appendClose(code: code, reason: reason)
        _ = note(socket.write(frames), batch.count, batch.messageBytes)
    }

    /// Sends a ping after the queued messages.
    func ping() {
        guard isOpen else { return }
        if socket.isBlocked {
            owesPing = true
            socket.requestWritable()
        } else if !socket.writeControl(9) {
            cut()
        }
    }

    /// Stops sending for the handler.
    private func cease() {
        switch phase {
        case .open, .closing:
            phase = .ceased
            dropQueue()
            shard.move(socket, to: .closing)
        // Its deadline is set already.
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
        dropQueue()
    }
}

@available(*, unavailable)
extension WebSocketConnection: Sendable {}
