import CNGHTTP2
import EventLoop
import TLS

/// Joins one TCP connection, TLS if any, and one HTTP/2 session. What both kinds of connection have in common.
///
///     connecting ──TCP──▶ handshaking ──TLS, h2──▶ open ──close, failure, end──▶ closing ──▶ (closed)
///
/// Reading is immediate. What is submitted meanwhile goes out right after it, so that the peer has work while the
/// next connection is read; all else at the end of the loop's turn. So frames share TLS records and writes. Events
/// are delivered when neither nghttp2 nor OpenSSL is on the stack.
final class HTTP2Channel {
    enum Event {
        /// The session exists and its settings are on their way.
        case opened
        case input(FrameSession.Input)
        /// Comes exactly once and last.
        case closed(HTTP2Failure?)
    }

    /// What a new session announces.
    struct SessionPlan {
        let isServer: Bool
        let settings: [nghttp2_settings_entry]
        let connectionWindow: Int
        /// The names of the header fields to be told of; nil for all.
        var wantedFields: [[UInt8]]?
    }

    private enum Phase { case connecting, handshaking, open, closing }

    /// One TLS record's plaintext at most (RFC 8446 §5.1).
    private static let recordSize = 16 * 1024
    /// As soon as so much waits for the kernel, nghttp2 is not asked for more.
    private static let writeLimit = 256 * 1024
    /// How long a connection that ends waits for the kernel to take what was written before.
    private static let lingerTime = Duration.seconds(5)

    private let loop: EventLoop
    private let plan: SessionPlan
    /// What connecting is called in failures: `connect to 127.0.0.1:443`.
    private let operation: String
    private let tls: TLSSession?
    private var tcp: TCPConnection?
    /// Exists from `open` on; kept while closing, as inputs may still refer to it.
    private(set) var session: FrameSession?
    private var onEvent: ((Event) -> Void)?
    private var phase: Phase
    private var timer: LoopTimer?

    /// Plaintext of the record just read; inputs point into it until they are delivered.
    private let readBuffer: UnsafeMutableRawBufferPointer
    /// Frames on their way: into a TLS record, or to the network.
    private var unsent: [UInt8] = []
    private var batch: [FrameSession.Input] = []
    /// The way of the bytes, where it is to be a longer one.
    private var inbound: DelayLine?
    private var outbound: DelayLine?
    private var isFlushPlanned = false
    private var isBlackHole = false
    /// Set when the end is orderly whatever else happens: we or the peer sent GOAWAY, or `close()` was called.
    private var isEndExpected = false
    private var failure: HTTP2Failure?

    /// - Parameter tls: a function because making the session may fail; the failure is then reported as any other.
    init(
        loop: EventLoop, operation: String, plan: SessionPlan, handshakeTimeout: Duration, isConnected: Bool,
        roundTrip: Duration = .zero, tls: () throws -> TLSSession?, onEvent: @escaping (Event) -> Void
    ) {
        loop.assertIsCurrent()
        self.loop = loop
        self.operation = operation
        self.plan = plan
        self.onEvent = onEvent
        phase = isConnected ? .handshaking : .connecting
        let made = Result { try tls() }
        switch made {
        case .success(let session): self.tls = session
        case .failure(let error):
            self.tls = nil
            // `TLSSession` throws nothing else.
            failure = (error as? TLSFailure).map { HTTP2Failure($0) }
        }
        readBuffer = .allocate(byteCount: self.tls == nil ? 0 : Self.recordSize, alignment: 16)
        timer = LoopTimer(loop: loop) { [weak self] in self?.timeRanOut(handshakeTimeout) }
        timer?.start(after: handshakeTimeout)
        guard roundTrip > .zero else { return }
        inbound = DelayLine(loop: loop, delay: roundTrip / 2) { [weak self] bytes in
            bytes.withUnsafeBytes { self?.arrived($0) }
        }
        outbound = DelayLine(loop: loop, delay: roundTrip / 2) { [weak self] in self?.tcp?.write($0) }
    }

    deinit { readBuffer.deallocate() }

    /// Gives the channel its socket, whose events must go to ``tcpChanged(_:)``. Called once, right after init.
    func start(_ tcp: TCPConnection) {
        self.tcp = tcp
        if failure != nil {
            phase = .closing
            tcp.close()
        } else if phase == .handshaking {
            // A server waits for the client's first flight; without TLS it sends its settings at once.
            if tls == nil { loop.atEndOfTurn { [self] in if phase == .handshaking { guarded { open() } } } }
        }
    }

    var isOpen: Bool { phase == .open }

    var peerCertificate: TLSPeerCertificate? { tls?.peerCertificate }

    // MARK: From the socket

    func tcpChanged(_ event: TCPConnection.Event) {
        switch event {
        case .connected: guarded { try connected() }
        case .received(let bytes):
            if let inbound { inbound.send(Array(bytes)) } else { arrived(bytes) }
        case .drained: drained()
        case .closed(let error): ended(error)
        }
    }

    private func arrived(_ bytes: UnsafeRawBufferPointer) {
        guard !isBlackHole, phase != .closing else { return }
        guarded {
            try received(bytes)
            // The job at the end of the turn finds the rest, if there is any.
            if isFlushPlanned, phase == .open { try flush() }
        }
    }

    private func transmit(_ bytes: UnsafeRawBufferPointer) {
        if let outbound { outbound.send(Array(bytes)) } else { tcp?.write(bytes) }
    }

    private func connected() throws {
        guard phase == .connecting else { return }
        phase = .handshaking
        guard let tls else { return open() }
        _ = try tls.handshake()
        tls.takeOutgoing(transmit)
    }

    private func received(_ bytes: UnsafeRawBufferPointer) throws {
        guard let tls else {
            if phase == .handshaking { open() }
            return try feed(bytes)
        }
        tls.receive(bytes)
        if phase == .handshaking {
            let isComplete = try tls.handshake()
            tls.takeOutgoing(transmit)
            guard isComplete else { return }
            open()
        }
        while phase == .open {
            switch try tls.read(into: readBuffer) {
            case .bytes(let count): try feed(UnsafeRawBufferPointer(rebasing: readBuffer[..<count]))
            case .needsInput:
                // Reading may have an answer of TLS's own as its result, such as to a key update.
                if tls.outgoingCount > 0 { planFlush() }
                return
            case .ended:
                // The peer's close_notify. Its FIN is about to follow and would say the same.
                endedByPeer()
            }
        }
    }

    private func open() {
        phase = .open
        timer = nil
        unsent.reserveCapacity(Self.recordSize)
        session = FrameSession(
            isServer: plan.isServer, settings: plan.settings, connectionWindow: plan.connectionWindow,
            wantedFields: plan.wantedFields)
        planFlush()
        onEvent?(.opened)
    }

    private func feed(_ bytes: UnsafeRawBufferPointer) throws {
        guard phase == .open, let session else { return }
        // What was submitted under the limits of before goes out under them: nghttp2 would otherwise hold it back
        // when `bytes` lower a limit.
        if isFlushPlanned { try encode() }
        planFlush()
        defer { deliver() }
        try session.receive(bytes)
    }

    private func deliver() {
        guard let session else { return }
        repeat {
            session.takeInputs(&batch)
            // By index: a second reference to the array would have it copied when it is emptied.
            for index in batch.indices {
                guard phase == .open else { return }
                if case .goAway = batch[index] { isEndExpected = true }
                onEvent?(.input(batch[index]))
            }
        } while !batch.isEmpty
    }

    // MARK: To the socket

    /// Has what was submitted sent at the end of the turn.
    func planFlush() {
        guard !isFlushPlanned, phase == .open else { return }
        isFlushPlanned = true
        loop.atEndOfTurn { [self] in
            isFlushPlanned = false
            guard phase == .open else { return }
            guarded { try flush() }
        }
    }

    private func flush() throws {
        guard !isBlackHole, let session, let tcp else { return }
        let isAllEncoded = try encode()
        try write()
        // Otherwise `drained` goes on.
        if !isAllEncoded, tcp.pendingBytes == 0 { planFlush() }
        // Streams end by what is sent, too.
        deliver()
        guard phase == .open, session.isOver else { return }
        if !isEndExpected { failure = session.ending }
        tls?.shutDown()
        try write()
        closeWhenDrained()
    }

    /// Moves frames from nghttp2 to the record buffer, and full records into TLS.
    /// - Returns: false when too much waits for the kernel, and nghttp2 may have more.
    @discardableResult
    private func encode() throws -> Bool {
        guard !isBlackHole, let session, let tcp else { return true }
        while tcp.pendingBytes + (tls?.outgoingCount ?? unsent.count) < Self.writeLimit {
            guard let bytes = try session.nextBytes() else { return true }
            if tls != nil, unsent.count + bytes.count > Self.recordSize { try seal() }
            unsent.append(contentsOf: bytes)
        }
        return false
    }

    private func seal() throws {
        guard let tls, !unsent.isEmpty else { return }
        try unsent.withUnsafeBytes { try tls.write($0) }
        unsent.removeAll(keepingCapacity: true)
    }

    private func write() throws {
        guard !isBlackHole else { return }
        if let tls {
            try seal()
            tls.takeOutgoing(transmit)
        } else {
            unsent.withUnsafeBytes(transmit)
            unsent.removeAll(keepingCapacity: true)
        }
    }

    private func drained() {
        switch phase {
        case .connecting, .handshaking: break
        case .open: planFlush()
        case .closing: tcp?.close()
        }
    }

    // MARK: The end

    /// Runs a step that may fail, and fails the connection with it.
    private func guarded(_ step: () throws -> Void) {
        do {
            try step()
        } catch {
            // Nothing here throws anything else.
            switch error {
            case let failure as HTTP2Failure: fail(failure)
            case let failure as TLSFailure: fail(HTTP2Failure(failure))
            default: fail(HTTP2Failure(operation: operation, reason: .tls(code: 0), text: "\(error)"))
            }
        }
    }

    private func fail(_ failure: HTTP2Failure) {
        guard phase != .closing else { return }
        self.failure = failure
        // TLS has put an alert there that tells the peer why; nghttp2 a GOAWAY.
        if phase == .open { _ = try? encode() }
        try? write()
        closeWhenDrained()
    }

    /// GOAWAY, and the end as soon as the streams are done.
    func shutDown() {
        guard phase == .open else { return close() }
        isEndExpected = true
        session?.goAway(lastStream: nil, .noError, debug: [])
        planFlush()
    }

    func goAway(lastStream: StreamID?, _ code: HTTP2ErrorCode, debug: [UInt8]) {
        guard phase == .open else { return }
        isEndExpected = true
        session?.goAway(lastStream: lastStream, code, debug: debug)
        planFlush()
    }

    func close() {
        loop.assertIsCurrent()
        guard phase != .closing else { return }
        isEndExpected = true
        guard phase == .open, !isBlackHole else {
            phase = .closing
            timer = nil
            tcp?.close()
            return
        }
        // First what waits, as nothing comes after the GOAWAY of a session that is terminated.
        _ = try? encode()
        session?.terminate()
        _ = try? encode()
        try? seal()
        tls?.shutDown()
        try? write()
        closeWhenDrained()
    }

    private func closeWhenDrained() {
        phase = .closing
        if !isBlackHole { outbound?.flush() }
        guard let tcp, tcp.pendingBytes > 0, !isBlackHole else {
            timer = nil
            tcp?.close()
            return
        }
        timer = LoopTimer(loop: loop) { [weak self] in self?.tcp?.close() }
        timer?.start(after: Self.lingerTime)
    }

    private func timeRanOut(_ limit: Duration) {
        guard phase == .connecting || phase == .handshaking else { return }
        let step = phase == .connecting ? "connected" : "agreed on TLS"
        fail(HTTP2Failure(operation: operation, reason: .timedOut, text: "not \(step) within \(limit)"))
    }

    private func endedByPeer() {
        noteEndByPeer()
        phase = .closing
        tcp?.close()
    }

    /// The peer has ended the connection in an orderly way as far as TCP goes: what that means for us.
    private func noteEndByPeer() {
        switch phase {
        case .closing: return
        case .open:
            // The session exists while `open`.
            guard let session, session.openStreams > 0 || !session.hasPeerSettings else { return }
            let detail = session.hasPeerSettings ? "with open streams: \(session.openStreams)" : "before its settings"
            failure = HTTP2Failure(
                operation: "read", reason: .endedByPeer, text: "the peer ended the connection \(detail)")
        case .connecting, .handshaking:
            failure = HTTP2Failure(
                operation: operation, reason: .endedByPeer, text: "the peer ended the connection during the handshake")
        }
    }

    private func ended(_ error: SystemError?) {
        timer = nil
        if let error {
            if failure == nil, !(isEndExpected && phase == .closing) {
                failure = HTTP2Failure(
                    operation: phase == .connecting ? operation : error.operation,
                    reason: .system(errno: error.errno), text: error.description)
            }
        } else {
            noteEndByPeer()
        }
        phase = .closing
        tcp = nil
        inbound = nil
        outbound = nil
        let report = onEvent
        onEvent = nil
        report?(.closed(failure))
    }

    // MARK: Faults

    func stopReading() { tcp?.stopReading() }

    func resumeReading() { tcp?.resumeReading() }

    func becomeBlackHole() {
        isBlackHole = true
    }
}

@available(*, unavailable)
extension HTTP2Channel: Sendable {}
