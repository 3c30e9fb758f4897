import EventLoop

/// A TLS connection of a client that carries plain bytes, for a protocol without frames of its own. Created, used and released on the
/// loop's thread.
///
/// After `closed` no other event comes. A connection that is neither closed nor at its end keeps itself alive.
public final class TLSConnection {
    public enum Event {
        /// The server has shown a certificate that is trusted; comes once.
        case connected
        /// Plain bytes, valid during the callback only.
        case received(UnsafeRawBufferPointer)
        /// It is over: nil after ``close()`` or the server's orderly end.
        case closed(TLSFailure?)
    }

    /// One TLS record's plaintext at most (RFC 8446 §5.1).
    private static let recordSize = 16 * 1024

    private let session: TLSSession
    private var tcp: TCPConnection?
    private var onEvent: ((Event) -> Void)?
    private var failure: TLSFailure?

    /// Starts to connect.
    /// - Parameter serverName: whom the certificate has to name: a name or a numeric address.
    /// - Throws: ``TLSFailure``.
    public init(
        loop: EventLoop, to address: SocketAddress, serverName: String, context: TLSClientContext,
        onEvent: @escaping (Event) -> Void
    ) throws {
        session = try TLSSession(client: context, serverName: serverName)
        self.onEvent = onEvent
        // Held by the socket until it is closed, and let go of there.
        tcp = TCPConnection.connect(loop: loop, to: address) { [self] in happened($0, address) }
    }

    /// Queues `bytes`. After `connected`.
    public func write(_ bytes: [UInt8]) {
        guarded {
            try bytes.withUnsafeBytes { try session.write($0) }
            transmit()
        }
    }

    public func close() {
        session.shutDown()
        transmit()
        tcp?.close()
    }

    private func happened(_ event: TCPConnection.Event, _ address: SocketAddress) {
        switch event {
        case .connected: guarded { try advance() }
        case .received(let bytes):
            guarded {
                session.receive(bytes)
                try advance()
            }
        case .drained: break
        case .closed(let error):
            let system = error.map {
                TLSFailure(
                    operation: "connect to \(address)", reason: .system(errno: $0.errno), text: $0.description)
            }
            let onEvent = onEvent
            self.onEvent = nil
            tcp = nil
            onEvent?(.closed(failure ?? system))
        }
    }

    /// Goes on with the handshake, or reads.
    private func advance() throws {
        if !session.isEstablished {
            let isComplete = try session.handshake()
            transmit()
            guard isComplete else { return }
            onEvent?(.connected)
        }
        try withUnsafeTemporaryAllocation(byteCount: Self.recordSize, alignment: 16) { buffer in
            while true {
                switch try session.read(into: buffer) {
                case .bytes(let count): onEvent?(.received(UnsafeRawBufferPointer(rebasing: buffer[..<count])))
                case .needsInput: return transmit()
                case .ended: return close()
                }
            }
        }
    }

    private func transmit() { session.takeOutgoing { tcp?.write($0) } }

    private func guarded(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            // An alert tells the server why.
            transmit()
            failure =
                error as? TLSFailure
                ?? TLSFailure(operation: "speak TLS", reason: .library(code: 0), text: "\(error)")
            tcp?.close()
        }
    }
}

@available(*, unavailable)
extension TLSConnection: Sendable {}
