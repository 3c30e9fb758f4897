import CNGHTTP2
import EventLoop
import TLS

/// Connects one TCP connection, TLS if configured, and one HTTP/2 session. Shared by client and server connections.
///
///     connecting ──TCP──▶ handshaking ──TLS, h2──▶ open ──close, failure, end──▶ closing ──▶ (closed)
///
/// Reads are processed at once. Frames submitted during a read are sent right after it, so that the peer has work
/// early. All other frames are sent at the end of the loop's turn, so that they share TLS records and writes. Events
/// are delivered when neither nghttp2 nor OpenSSL is on the stack.
final class HTTP2Channel {
    enum Event {
        /// The session exists and its settings are queued.
        case opened
        case input(FrameSession.Input)
        /// The last event; occurs exactly once.
        case closed(HTTP2Failure?)
    }

    /// The settings of a new session.
    struct SessionPlan {
        let isServer: Bool
        let settings: [nghttp2_settings_entry]
        let connectionWindow: Int
        /// The names of the header fields to report; nil for all.
        var wantedFields: [[UInt8]]?
    }

    private enum Phase { case connecting, handshaking, open, closing }

    /// The most plaintext of one TLS record (RFC 8446 §5.1).
    private static let recordSize = 16 * 1024
    /// The bytes queued for the kernel at which nghttp2 is not read any further.
    private static let writeLimit = 256 * 1024
    /// The longest time that a closing connection waits for the kernel to accept written bytes.
    private static let lingerTime = Duration.seconds(5)

    private let loop: EventLoop
    private let plan: SessionPlan
    /// The name of the connect step in failures: `connect to 127.0.0.1:443`.
    private let operation: String
    private let tls: TLSSession?
    private var tcp: TCPConnection?
    /// Exists from `open` on, and while closing, because inputs may refer to it.
    private(set) var session: FrameSession?
    private var onEvent: ((Event) -> Void)?
    private var phase: Phase
    private var timer: LoopTimer?

    /// The plaintext of the last record; inputs refer to it until they are delivered.
    private let readBuffer: UnsafeMutableRawBufferPointer
    /// Frames not yet encrypted, or not yet written.
    private var unsent: [UInt8] = []
    private var batch: [FrameSession.Input] = []
    /// The simulated longer path, if configured.
    private var inbound: DelayLine?
    private var outbound: DelayLine?
    private var isFlushPlanned = false
    private var isBlackHole = false
    /// Whether the end counts as orderly: either side sent GOAWAY, or `close()` was called.
    private var isEndExpected = false
    private var failure: HTTP2Failure?

    /// - Parameter tls: a function, so that its failure is reported like any other failure of the connection.
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
            // `TLSSession` throws only this type.
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

    /// Sets the socket, whose events must go to ``tcpChanged(_:)``. Called once, right after init.
    func start(_ tcp: TCPConnection) {
        self.tcp = tcp
        if failure != nil {
            phase = .closing
            tcp.close()
        } else if phase == .handshaking {
            // A server waits for the client's first flight; without TLS, it sends its settings at once.
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
            // The job at the end of the turn sends the rest.
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
                // Reading may produce TLS output, such as the answer to a key update.
                if tls.outgoingCount > 0 { planFlush() }
                return
            case .ended:
                // The peer's close_notify. Its FIN follows and has the same meaning.
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
        // Encodes submitted frames under the old limits: nghttp2 would hold them back if `bytes` lower a limit.
        if isFlushPlanned { try encode() }
        planFlush()
        defer { deliver() }
        try session.receive(bytes)
    }

    private func deliver() {
        guard let session else { return }
        repeat {
            session.takeInputs(&batch)
            // By index: a second reference to the array would copy it when it is emptied.
            for index in batch.indices {
                guard phase == .open else { return }
                if case .goAway = batch[index] { isEndExpected = true }
                onEvent?(.input(batch[index]))
            }
        } while !batch.isEmpty
    }

    // MARK: To the socket

    /// Schedules a send of submitted frames at the end of the turn.
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
        // Otherwise the `drained` event continues.
        if !isAllEncoded, tcp.pendingBytes == 0 { planFlush() }
        // Sending may end streams, too.
        deliver()
        guard phase == .open, session.isOver else { return }
        if !isEndExpected { failure = session.ending }
        tls?.shutDown()
        try write()
        closeWhenDrained()
    }

    /// Moves frames from nghttp2 to the record buffer, and full records into TLS.
    /// - Returns: false when the kernel's queue is full, and nghttp2 may have more frames.
    @discardableResult
    private func encode() throws -> Bool {
        guard !isBlackHole, let session, let tcp else { return true }
        while tcp.pendingBytes + (tls?.outgoingCount ?? unsent.count) < Self.writeLimit {
            let isMore = try session.nextBytes { bytes in
                if tls != nil, unsent.count + bytes.count > Self.recordSize { try seal() }
                unsent.append(contentsOf: bytes)
            }
            guard isMore else { return true }
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

    /// Runs a step, and fails the connection if it throws.
    private func guarded(_ step: () throws -> Void) {
        do {
            try step()
        } catch {
            // No step throws another type.
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
        // Sends the TLS alert or the GOAWAY that contains the reason.
        if phase == .open { _ = try? encode() }
        try? write()
        closeWhenDrained()
    }

    /// Sends GOAWAY, and closes when the streams are done.
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
        // Encodes queued frames first: a terminated session sends nothing after its GOAWAY.
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

    /// Handles the orderly TCP end of the peer.
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
