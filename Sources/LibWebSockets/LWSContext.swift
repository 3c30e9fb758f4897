import CLibWebSockets
import EventLoop
import Glibc
import TLS

/// One libwebsockets context on one loop. Created and used on the loop's thread.
public final class LWSContext {
    /// Whom a client believes.
    public enum Trust: Sendable {
        /// The certificate authorities of the system.
        case system
        /// Those of a PEM file, and no others.
        case file(String)
    }

    /// What the context is for.
    public enum Role {
        /// Makes connections.
        case client(Trust)
        /// Serves accepted descriptors.
        case server(ServerRole)
    }

    /// How long a handshake may take, in seconds. A server's listener has a deadline of its own for each connection.
    private static let handshakeSeconds: UInt32 = 10
    /// One read of a client, and so one piece of a message, is this long. It is part of every connection: most frames fit,
    /// longer ones come in pieces.
    static let readSize = 1024
    /// One read of a server: a record of TLS. All connections of a context read into the same buffer.
    private static let serverReadSize: UInt32 = 16_384
    /// The library sends no more than this at a time, and by default no more than `readSize`.
    private static let writeSize = 1 << 20
    /// How many descriptors other threads may open during the first half of a destruction.
    private static let spareNumbers = 8
    /// How many numbers have to be free below the bound of a context, where that is large.
    private static let roomNeeded = 512
    /// A context without a bound has no more: some containers have a limit of a thousand million.
    private static let mostNumbers = 1 << 21
    /// For a limit above that the library makes tables of 2,560 places (lws 4.1).
    private static let mostBound = 10_000_000
    /// All headers of an answer that a client gets, in bytes.
    private static let headerBytes: UInt16 = 8192

    public let loop: EventLoop
    let role: Role
    /// For a message that goes to one client alone.
    var frame = FrameBatch()
    /// What the listener noted of the connection that is being adopted.
    private(set) var admitting = Admission()
    /// For the frames of whichever client writes.
    lazy var masked = MaskedFrames()
    /// The clients that have something to send when the turn ends.
    private var unflushed: [WebSocketClientConnection] = []
    private(set) var vhost: OpaquePointer?
    /// What a server shows in its handshakes.
    private(set) var certificate: TLSCertificate?
    private var context: OpaquePointer?
    /// Set to nil by the library when it has freed the context.
    private let slot: UnsafeMutablePointer<OpaquePointer?>
    private let protocols: UnsafeMutablePointer<lws_protocols>
    private let retry: UnsafeMutablePointer<lws_retry_bo_t>
    /// What the library keeps pointers to.
    private var strings: [UnsafeMutablePointer<CChar>] = []
    private lazy var alpn = string("http/1.1")
    /// Its tables have a place for each number below this.
    private var numbers = 0
    /// The library's own wake-up descriptor.
    private var pipe: Int32 = -1
    /// Descriptors with lower numbers than `pipe`, kept for ``destroyFirstHalf(_:)``.
    private var lowerNumbers: [Int32] = []
    private var ending: LoopTurn?
    private var onDestroyed: (() -> Void)?
    private(set) var isDestroyed = false
    private var isHalfDestroyed = false

    /// - Throws: ``LWSError`` when the library cannot set itself up (certificates that cannot be read, memory).
    public convenience init(loop: EventLoop, role: Role) throws {
        try self.init(loop: loop, role: role, numbersBelow: nil)
    }

    /// - Parameter bound: the numbers of its descriptors are below that, or any that the process may have: where it is nil,
    ///   and where too few of the numbers below are free for what the library opens itself.
    /// - Throws: as ``init(loop:role:)``.
    package init(loop: EventLoop, role: Role, numbersBelow bound: Int?) throws {
        loop.assertIsCurrent()
        precondition(LWSLibrary.isSetUp)
        self.loop = loop
        self.role = role
        if case .server(let server) = role { certificate = server.tls }
        slot = .allocate(capacity: 1)
        slot.initialize(to: nil)
        retry = .allocate(capacity: 1)
        // Zero seconds: else the library puts every connection into its one linear timer list at each message.
        retry.initialize(to: lws_retry_bo_t())
        protocols = .allocate(capacity: 2)
        protocols.initialize(repeating: lws_protocols(), count: 2)
        fillProtocols()
        try create(numbersBelow: bound)
    }

    deinit {
        // Still there when `destroy` was never called: the library's handles would go on without their callbacks.
        precondition(context == nil, "an LWSContext was released without destroy()")
        slot.deallocate()
        retry.deallocate()
        protocols.deallocate()
        for string in strings { free(string) }
    }

    private func string(_ text: String) -> UnsafePointer<CChar> {
        // nil only when memory has run out.
        let copy = strdup(text)!
        strings.append(copy)
        return UnsafePointer(copy)
    }

    private func fillProtocols() {
        switch role {
        case .client:
            protocols[0].name = string("client")
            protocols[0].callback = onClientEvent
        case .server:
            protocols[0].name = string("server")
            protocols[0].callback = onServerEvent
        }
        protocols[0].rx_buffer_size = Self.readSize
        protocols[0].tx_packet_size = Self.writeSize
    }

    private func create(numbersBelow bound: Int?) throws {
        let polledBefore = Set(loop.polledDescriptors)
        lowerNumbers = (0..<Self.spareNumbers).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        var info = lws_context_creation_info()
        info.port = CONTEXT_PORT_NO_LISTEN
        info.options = UInt64(LWS_SERVER_OPTION_LIBUV | LWS_SERVER_OPTION_EXPLICIT_VHOSTS)
        info.user = Unmanaged.passUnretained(self).toOpaque()
        info.pcontext = slot
        info.timeout_secs = Self.handshakeSeconds
        info.connect_timeout_secs = Self.handshakeSeconds
        info.max_http_header_data = Self.headerBytes
        info.pt_serv_buf_size = isServer ? Self.serverReadSize + UInt32(lws_headroom) : 4096
        info.retry_and_idle_policy = UnsafePointer(retry)
        info.gid = -1
        info.uid = -1
        var rawLoop: UnsafeMutableRawPointer? = loop.rawLoop
        context = withUnsafeMutablePointer(to: &rawLoop) { rawLoop in
            info.foreign_loops = rawLoop
            // The library makes its tables for the limit that it finds. By its own setting (`fd_limit_per_thread`) it would
            // look through all of a smaller one for each event.
            let most = bound.flatMap { hasRoom(below: $0) ? min($0, Self.mostBound) : nil } ?? Self.mostNumbers
            return DescriptorLimit.lowered(to: most) { limit in
                numbers = limit
                return LWSLibrary.createContext(&info, withTLS: usesTLS)
            }
        }
        guard context != nil else {
            closeLowerNumbers()
            throw LWSError(operation: "lws_create_context", detail: LWSLibrary.complaint)
        }
        // The library only ever clears it.
        slot.pointee = context
        pipe = loop.polledDescriptors.first { !polledBefore.contains($0) } ?? -1
        try createVhost(&info)
    }

    /// Whether the library finds numbers for what it opens itself, and other threads, one that accepts above all, for what they
    /// open meanwhile.
    private func hasRoom(below bound: Int) -> Bool {
        // The kernel gives out the lowest first.
        let probes = (0..<min(Self.roomNeeded, bound / 8)).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        defer { for probe in probes where probe >= 0 { close(probe) } }
        return probes.allSatisfy { $0 >= 0 && $0 < bound }
    }

    private var isServer: Bool {
        switch role {
        case .client: false
        case .server: true
        }
    }

    private var usesTLS: Bool {
        switch role {
        case .client: true
        case .server(let server): server.tls != nil
        }
    }

    private func createVhost(_ info: inout lws_context_creation_info) throws {
        info.vhost_name = string("reveille")
        info.protocols = UnsafePointer(protocols)
        // HTTP/2 would be taken by the library itself, past the callbacks here.
        info.alpn = UnsafePointer(alpn)
        if usesTLS { info.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT) }
        switch role {
        case .client(let trust): try trustAuthorities(trust, &info)
        case .server(let server):
            info.port = CONTEXT_PORT_NO_LISTEN_SERVER
            if let tls = server.tls {
                // Makes it a TLS listener; what it shows is set for each handshake.
                info.ssl_cert_filepath = string(tls.identity.certificateFile)
                info.ssl_private_key_filepath = string(tls.identity.keyFile)
            }
        }
        vhost = lws_create_vhost(context, &info)
        guard vhost != nil else { try fail("lws_create_vhost", LWSLibrary.complaint) }
    }

    private func trustAuthorities(_ trust: Trust, _ info: inout lws_context_creation_info) throws {
        // A server that has gone without a word is noticed by the system: the library does not tell of its pings.
        info.ka_time = 30
        info.ka_probes = 3
        info.ka_interval = 10
        switch trust {
        case .system: break
        case .file(let path):
            // The library does not fail over a file it cannot read: it says so and trusts nobody.
            guard access(path, R_OK) == 0 else { try fail("read \(path)", String(cString: strerror(errno))) }
            info.client_ssl_ca_filepath = string(path)
            info.options |= UInt64(LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS)
        }
    }

    private func fail(_ operation: String, _ detail: String) throws -> Never {
        destroy()
        throw LWSError(operation: operation, detail: detail)
    }

    // MARK: Use

    /// Takes over a connected, non-blocking descriptor.
    /// - Returns: false when that failed; it is closed then, and `socketReleased` does not come.
    package func adopt(_ descriptor: Int32, as admission: Admission = Admission()) -> Bool {
        // The library writes beyond its tables as it refuses a number that they have no place for (lws 4.1).
        guard !isDestroyed, descriptor < numbers else {
            close(descriptor)
            return false
        }
        admitting = admission
        // As bytes, of which the library makes nothing itself: see ``ServerSocket``. It nudges itself when it has taken one
        // over (lws 4.1).
        let kind = lws_adoption_type(LWS_ADOPT_SOCKET.rawValue | LWS_ADOPT_ALLOW_SSL.rawValue)
        return lws_adopt_descriptor_vhost(vhost, kind, lws_sock_file_fd_type(sockfd: descriptor), nil, nil) != nil
    }

    /// From now on handshakes show this certificate. Connections go on, those in their handshake too. Only with a context
    /// that began with one.
    package func replaceCertificate(with certificate: TLSCertificate) {
        loop.assertIsCurrent()
        precondition(self.certificate != nil, "a listener without TLS has no certificate to replace")
        self.certificate = certificate
    }

    /// Has the library look at its timers. It does so after its own callbacks only, so a deadline set from outside of
    /// one goes unseen on a quiet loop (lws 4.1 on libuv).
    func nudge() {
        if let context { lws_cancel_service(context) }
    }

    // MARK: Clients

    /// Connections by the number that the library carries for them. A number, because the library does not always
    /// tell the end of an attempt that fails at once (lws 4.1), so that no retain could be balanced.
    private var clients: [UInt: WebSocketClientConnection] = [:]
    private var lastClient: UInt = 0

    func register(_ client: WebSocketClientConnection) -> UInt {
        lastClient += 1
        clients[lastClient] = client
        return lastClient
    }

    func unregister(_ number: UInt) -> WebSocketClientConnection? { clients.removeValue(forKey: number) }

    func client(_ number: UInt) -> WebSocketClientConnection? { clients[number] }

    /// Has `client` write what it has queued, after all that has come in this turn is read.
    func flushAtEndOfTurn(_ client: WebSocketClientConnection) {
        if unflushed.isEmpty { loop.atEndOfTurn { [self] in flushClients() } }
        unflushed.append(client)
    }

    private func flushClients() {
        var next = 0
        // Also those that come to have something to send meanwhile.
        while next < unflushed.count {
            unflushed[next].flush()
            next += 1
        }
        unflushed.removeAll(keepingCapacity: true)
    }

    /// - Parameter address: numeric, or a `+` and the path of a Unix socket.
    /// - Returns: nil when it failed at once.
    func connect(number: UInt, address: String, url: WebSocketURL, subprotocol: String) -> OpaquePointer? {
        let isStandardPort = url.port == (url.isSecure ? 443 : 80)
        let name = url.host.contains(":") ? "[\(url.host)]" : url.host
        let host = isStandardPort ? name : "\(name):\(url.port)"
        var info = lws_client_connect_info()
        info.context = context
        info.vhost = vhost
        info.port = Int32(url.port)
        info.ssl_connection = url.isSecure ? Int32(LCCSCF_USE_SSL.rawValue) : 0
        info.ietf_version_or_minus_one = -1
        info.userdata = UnsafeMutableRawPointer(bitPattern: number)
        info.retry_and_idle_policy = UnsafePointer(retry)
        let wsi = address.withCString { address in
            url.path.withCString { path in
                host.withCString { host in
                    subprotocol.withCString { subprotocol in
                        // Copied by the library before it returns.
                        info.address = address
                        info.path = path
                        info.host = host
                        info.`protocol` = subprotocol
                        info.alpn = UnsafePointer(alpn)
                        info.local_protocol_name = UnsafePointer(protocols[0].name)
                        return lws_client_connect_via_info(&info)
                    }
                }
            }
        }
        nudge()
        return wsi
    }

    // MARK: End

    /// Closes what is open without ceremony and lets go of the library's state, in the next turns of the loop.
    ///
    /// Connections tell their end in that time. May be called from within any callback; only the first call counts.
    /// The loop does not stop before it is done.
    public func destroy() { destroy {} }

    /// - Parameter completion: runs on the loop when nothing is left.
    package func destroy(_ completion: @escaping () -> Void) {
        loop.assertIsCurrent()
        guard !isDestroyed else { return }
        isDestroyed = true
        // What was sent in this turn goes before that.
        for client in clients.values { client.flush() }
        onDestroyed = completion
        loop.beginHold()
        // Not at once: the library must not be on the stack. Keeps `self` until the end.
        ending = LoopTurn(loop: loop) { self.continueDestroying() }
    }

    /// Two calls of `lws_context_destroy` are needed on a foreign loop: the first starts to close all handles, and the
    /// second frees the memory they live in, so it has to wait until libuv has let go of them.
    private func continueDestroying() {
        guard let raw = context else { return }
        if !isHalfDestroyed {
            isHalfDestroyed = true
            let mayGoOn = destroyFirstHalf(raw)
            if !mayGoOn { endDestroying() }
            return
        }
        if slot.pointee != nil {
            // The library marks its timer and its idle handle with the context.
            guard !loop.hasHandle(carrying: UnsafeRawPointer(raw)) else { return }
            lws_context_destroy(raw)
        }
        endDestroying()
    }

    private func endDestroying() {
        context = nil
        vhost = nil
        loop.endHold()
        let completion = onDestroyed
        onDestroyed = nil
        // Last, as it may release `self`.
        withExtendedLifetime(self) { ending = nil }
        completion?()
    }

    /// The library closes its wake-up descriptor twice, some turns of the loop apart (lws 4.1, `lws_destroy_event_pipe`
    /// and the close callback), so the second close would hit whatever another thread has opened meanwhile under the
    /// same number. Between the two a placeholder holds the number. Until it does, threads that open something are
    /// given the numbers freed here, as the kernel always gives out the lowest.
    /// - Returns: false when another thread was faster all the same. The second close is taken away then, and with it
    ///   the library's way to free the context: some kilobytes are lost, but nobody's descriptor is.
    private func destroyFirstHalf(_ raw: OpaquePointer) -> Bool {
        closeLowerNumbers()
        lws_context_destroy(raw)
        let placeholder = DescriptorLimit.lowered(to: .max) { _ in fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, pipe) }
        if placeholder == pipe { return true }
        if placeholder >= 0 { close(placeholder) }
        loop.dropCloseCallback(ofPollOn: pipe)
        // What the library still closes calls back into this object.
        _ = Unmanaged.passRetained(self)
        return false
    }

    private func closeLowerNumbers() {
        for descriptor in lowerNumbers where descriptor >= 0 { close(descriptor) }
        lowerNumbers = []
    }
}

@available(*, unavailable)
extension LWSContext: Sendable {}

/// The context of a callback: set as the user pointer when it was created, and alive until the library has freed it.
/// Its loop's turn has begun.
func context(of wsi: OpaquePointer) -> LWSContext {
    let context = Unmanaged<LWSContext>.fromOpaque(lws_context_user(lws_get_context(wsi))!).takeUnretainedValue()
    context.loop.turnBegan()
    return context
}
