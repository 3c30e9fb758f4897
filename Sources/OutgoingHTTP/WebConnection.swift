import EventLoop
import TLS

/// A connection to an origin, with TLS or without. Belongs to one exchange at a time, or is idle. Confined to the
/// loop; keeps itself alive until it is closed.
final class WebConnection {
    enum Event {
        case connected
        /// Valid during the callback only.
        case received(UnsafeRawBufferPointer)
        /// nil after the peer's orderly end.
        case closed(String?)
    }

    private enum Transport {
        case plain(TCPConnection)
        case secure(TLSConnection)
    }

    let origin: WebAddress.Origin
    private let loop: EventLoop
    private var transport: Transport?
    private var onEvent: ((Event) -> Void)?
    private var restTimer: LoopTimer?

    /// Starts to connect.
    /// - Throws: `TLSFailure`.
    init(
        to address: SocketAddress, _ origin: WebAddress.Origin, client: WebClient, onEvent: @escaping (Event) -> Void
    ) throws {
        self.origin = origin
        self.onEvent = onEvent
        loop = client.loop
        if origin.isSecure {
            let connection = try TLSConnection(
                loop: loop, to: address, serverName: origin.host, context: client.tls
            ) { [self] in
                switch $0 {
                case .connected: self.onEvent?(.connected)
                case .received(let bytes): self.onEvent?(.received(bytes))
                case .closed(let failure): closed(failure?.description)
                }
            }
            transport = .secure(connection)
        } else {
            let connection = TCPConnection.connect(loop: loop, to: address) { [self] in
                switch $0 {
                case .connected: self.onEvent?(.connected)
                case .received(let bytes): self.onEvent?(.received(bytes))
                case .drained: break
                case .closed(let error): closed(error?.description)
                }
            }
            transport = .plain(connection)
        }
    }

    func write(_ bytes: [UInt8]) {
        switch transport {
        case .plain(let connection): connection.write(bytes)
        case .secure(let connection): connection.write(bytes)
        case nil: break
        }
    }

    /// No event comes any more.
    func close() {
        onEvent = nil
        restTimer = nil
        switch transport {
        case .plain(let connection): connection.close()
        case .secure(let connection): connection.close()
        case nil: break
        }
    }

    /// Waits for another exchange. Any byte of the peer ends it: none was asked for.
    /// - Parameter onEnd: called when it is closed, by the peer or after `limit`.
    func rest(for limit: Duration, onEnd: @escaping () -> Void) {
        let end = { [weak self] in
            self?.close()
            onEnd()
        }
        onEvent = {
            switch $0 {
            case .connected: break
            case .received, .closed: end()
            }
        }
        restTimer = LoopTimer(loop: loop, onFire: end)
        restTimer?.start(after: limit)
    }

    /// Ends the rest.
    func resume(onEvent: @escaping (Event) -> Void) {
        restTimer = nil
        self.onEvent = onEvent
    }

    private func closed(_ reason: String?) {
        transport = nil
        let onEvent = onEvent
        self.onEvent = nil
        onEvent?(.closed(reason))
    }
}

@available(*, unavailable)
extension WebConnection: Sendable {}
