import CLibWebSockets
import EventLoop
import Glibc
import TLS

/// One libwebsockets context on one loop. Created and used on the loop's thread.
public final class LWSContext {
    /// The trust anchors a client verifies servers against.
    public enum Trust: Sendable {
        case system
        /// The certificates of a PEM file only.
        case file(String)
    }

    public enum Role {
        /// - Parameter identity: the certificate to show to servers that ask for one.
        case client(Trust, identity: TLSFiles? = nil)
        case server(ServerRole)
    }

    /// The handshake timeout in seconds. A server's listener has its own deadline for each connection.
    private static let handshakeSeconds: UInt32 = 10
    /// The size of a client's read buffer, in bytes. Each connection has one; longer frames arrive in several reads.
    static let readSize = 1024
    /// The size of a server's read buffer, in bytes: one TLS record. All connections of a context share it.
    private static let serverReadSize: UInt32 = 16_384
    /// The most bytes the library sends at once; its default is `readSize`.
    private static let writeSize = 1 << 20
    /// Descriptors that other threads may open during the first half of a destruction.
    private static let spareNumbers = 8
    /// Free descriptor numbers required below a large bound.
    private static let roomNeeded = 512
    /// The most descriptors of a context without a bound: some containers have a limit of 10⁹.
    private static let mostNumbers = 1 << 21
    /// For a higher limit the library makes tables of 2,560 entries (lws 4.1).
    private static let mostBound = 10_000_000
    /// The most header bytes of a response to a client.
    private static let headerBytes: UInt16 = 8192

    public let loop: EventLoop
    let role: Role
    /// Reused for each message to a single client.
    var frame = FrameBatch()
    /// The admission of the connection that is being adopted.
    private(set) var admitting = Admission()
    /// Reused for the frames of each client.
    lazy var masked = MaskedFrames()
    /// Clients that send at the end of the turn.
    private var unflushed: [WebSocketClientConnection] = []
    private(set) var vhost: OpaquePointer?
    /// The certificate of a server's handshakes.
    private(set) var certificate: TLSCertificate?
    private var context: OpaquePointer?
    /// Set to nil by the library when it has freed the context.
    private let slot: UnsafeMutablePointer<OpaquePointer?>
    private let protocols: UnsafeMutablePointer<lws_protocols>
    private let retry: UnsafeMutablePointer<lws_retry_bo_t>
    /// Strings that the library keeps pointers to.
    private var strings: [UnsafeMutablePointer<CChar>] = []
    private lazy var alpn = string("http/1.1")
    /// The size of the library's tables: descriptor numbers are below it.
    private var numbers = 0
    /// The library's wake-up descriptor.
    private var pipe: Int32 = -1
    /// Descriptors with lower numbers than `pipe`, reserved for ``destroyFirstHalf(_:)``.
    private var lowerNumbers: [Int32] = []
    private var ending: LoopTurn?
    private var onDestroyed: (() -> Void)?
    private(set) var isDestroyed = false
    private var isHalfDestroyed = false

    /// - Throws: ``LWSError`` when the library cannot create the context (unreadable certificates, memory).
    public convenience init(loop: EventLoop, role: Role) throws {
        try self.init(loop: loop, role: role, numbersBelow: nil)
    }

    /// - Parameter bound: the limit of its descriptor numbers. The process's limit applies where it is nil, or where
    ///   too few numbers below it are free for the library's own descriptors.
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
        // Zero seconds: otherwise each message moves its connection in the library's linear timer list.
        retry.initialize(to: lws_retry_bo_t())
        protocols = .allocate(capacity: 2)
        protocols.initialize(repeating: lws_protocols(), count: 2)
        fillProtocols()
        try create(numbersBelow: bound)
    }

    deinit {
        // Without `destroy`, the library's handles would outlive their callbacks.
        precondition(context == nil, "an LWSContext was released without destroy()")
        slot.deallocate()
        retry.deallocate()
        protocols.deallocate()
        for string in strings { free(string) }
    }

    private func string(_ text: String) -> UnsafePointer<CChar> {
        // nil only when memory is exhausted.
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
            // The library sizes its tables by the limit it finds. Its own setting (`fd_limit_per_thread`) makes it
            // search the whole table of a smaller one at each event.
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
        // The library only clears it.
        slot.pointee = context
        pipe = loop.polledDescriptors.first { !polledBefore.contains($0) } ?? -1
        try createVhost(&info)
    }

    /// Whether enough numbers are free for the library's own descriptors, and for those that other threads open
    /// meanwhile.
    private func hasRoom(below bound: Int) -> Bool {
        // The kernel assigns the lowest free number.
        let probes = (0..<min(Self.roomNeeded, bound / 8)).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        defer { for probe in probes where probe >= 0 { close(probe) } }
        return probes.allSatisfy { $0 >= 0 && $0 < bound }
    }

    /// Of a server that asks for clients' certificates.
    var clientAuthorities: ClientAuthorities? {
        switch role {
        case .client: nil
        case .server(let server): server.clients
        }
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
        // Without it the library would accept HTTP/2 itself and bypass the callbacks.
        info.alpn = UnsafePointer(alpn)
        if usesTLS { info.options |= UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT) }
        switch role {
        case .client(let trust, let identity):
            try trustAuthorities(trust, &info)
            if let identity { try show(identity, &info) }
        case .server(let server):
            info.port = CONTEXT_PORT_NO_LISTEN_SERVER
            if let tls = server.tls {
                // Enables TLS on the vhost; each handshake sets the certificate.
                info.ssl_cert_filepath = string(tls.identity.certificateFile)
                info.ssl_private_key_filepath = string(tls.identity.keyFile)
            }
        }
        vhost = lws_create_vhost(context, &info)
        guard vhost != nil else { try fail("lws_create_vhost", LWSLibrary.complaint) }
    }

    private func trustAuthorities(_ trust: Trust, _ info: inout lws_context_creation_info) throws {
        // TCP keepalive detects a dead server: the library does not report its pings.
        info.ka_time = 30
        info.ka_probes = 3
        info.ka_interval = 10
        switch trust {
        case .system: break
        case .file(let path):
            // The library only logs an unreadable file and then trusts no server.
            guard access(path, R_OK) == 0 else { try fail("read \(path)", String(cString: strerror(errno))) }
            info.client_ssl_ca_filepath = string(path)
            info.options |= UInt64(LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS)
        }
    }

    /// The certificate for servers that ask for one.
    private func show(_ identity: TLSFiles, _ info: inout lws_context_creation_info) throws {
        for path in [identity.certificateFile, identity.keyFile] where access(path, R_OK) != 0 {
            try fail("read \(path)", String(cString: strerror(errno)))
        }
        info.client_ssl_cert_filepath = string(identity.certificateFile)
        info.client_ssl_private_key_filepath = string(identity.keyFile)
    }

    private func fail(_ operation: String, _ detail: String) throws -> Never {
        destroy()
        throw LWSError(operation: operation, detail: detail)
    }

    // MARK: Use

    /// Takes over a connected, non-blocking descriptor.
    /// - Returns: false when the adoption failed; the descriptor is closed, and `socketReleased` is not called.
    package func adopt(_ descriptor: Int32, as admission: Admission = Admission()) -> Bool {
        // The library refuses a number beyond its tables by writing out of bounds (lws 4.1).
        guard !isDestroyed, descriptor < numbers else {
            close(descriptor)
            return false
        }
        admitting = admission
        // As raw bytes: see ``ServerSocket``. Adoption wakes the library's loop (lws 4.1).
        let kind = lws_adoption_type(LWS_ADOPT_SOCKET.rawValue | LWS_ADOPT_ALLOW_SSL.rawValue)
        return lws_adopt_descriptor_vhost(vhost, kind, lws_sock_file_fd_type(sockfd: descriptor), nil, nil) != nil
    }

    /// Replaces the certificate for new handshakes. Open connections and handshakes in progress continue. Requires TLS.
    package func replaceCertificate(with certificate: TLSCertificate) {
        loop.assertIsCurrent()
        precondition(self.certificate != nil, "a listener without TLS has no certificate to replace")
        self.certificate = certificate
    }

    /// Makes the library check its timers. It checks them only after its own callbacks, so a deadline set elsewhere is
    /// not seen on an idle loop (lws 4.1 on libuv).
    func nudge() {
        if let context { lws_cancel_service(context) }
    }

    // MARK: Clients

    /// Connections by number. The library carries the number instead of a retained pointer: it does not always report
    /// an attempt that fails at once (lws 4.1), so a retain could leak.
    private var clients: [UInt: WebSocketClientConnection] = [:]
    private var lastClient: UInt = 0

    func register(_ client: WebSocketClientConnection) -> UInt {
        lastClient += 1
        clients[lastClient] = client
        return lastClient
    }

    func unregister(_ number: UInt) -> WebSocketClientConnection? { clients.removeValue(forKey: number) }

    func client(_ number: UInt) -> WebSocketClientConnection? { clients[number] }

    /// Makes `client` write its queue after all input of this turn is read.
    func flushAtEndOfTurn(_ client: WebSocketClientConnection) {
        if unflushed.isEmpty { loop.atEndOfTurn { [self] in flushClients() } }
        unflushed.append(client)
    }

    private func flushClients() {
        var next = 0
        // Including clients added meanwhile.
        while next < unflushed.count {
            unflushed[next].flush()
            next += 1
        }
        unflushed.removeAll(keepingCapacity: true)
    }

    /// - Parameter address: numeric, or `+` and the path of a Unix socket.
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
                        // The library copies the strings before it returns.
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

    /// Closes all connections without a close handshake and frees the library's state, in the next turns of the loop.
    ///
    /// Connections report their end in that time. May be called from within any callback; only the first call counts.
    /// The loop does not stop before the context is freed.
    public func destroy() { destroy {} }

    /// - Parameter completion: runs on the loop when the context is freed.
    package func destroy(_ completion: @escaping () -> Void) {
        loop.assertIsCurrent()
        guard !isDestroyed else { return }
        isDestroyed = true
        // Messages of this turn are sent first.
        for client in clients.values { client.flush() }
        onDestroyed = completion
        loop.beginHold()
        // Later, because the library may be on the stack. Retains `self` until the end.
        ending = LoopTurn(loop: loop) { self.continueDestroying() }
    }

    /// On a foreign loop two calls of `lws_context_destroy` are needed. The first closes all handles. The second frees
    /// their memory, so it waits until libuv has released them.
    private func continueDestroying() {
        guard let raw = context else { return }
        if !isHalfDestroyed {
            isHalfDestroyed = true
            let mayGoOn = destroyFirstHalf(raw)
            if !mayGoOn { endDestroying() }
            return
        }
        if slot.pointee != nil {
            // The library's timer and idle handle carry the context.
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
        // Last, because it may release `self`.
        withExtendedLifetime(self) { ending = nil }
        completion?()
    }

    /// The library closes its wake-up descriptor twice, some turns of the loop apart (lws 4.1, `lws_destroy_event_pipe`
    /// and the close callback). The second close would hit a descriptor that another thread opened under the same
    /// number. A placeholder holds the number in between. Until it does, other threads get the lower numbers freed
    /// here, because the kernel assigns the lowest.
    /// - Returns: false when another thread took the number anyway. The second close is then cancelled, and the library
    ///   cannot free the context: some kilobytes leak.
    private func destroyFirstHalf(_ raw: OpaquePointer) -> Bool {
        closeLowerNumbers()
        lws_context_destroy(raw)
        let placeholder = DescriptorLimit.lowered(to: .max) { _ in fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, pipe) }
        if placeholder == pipe { return true }
        if placeholder >= 0 { close(placeholder) }
        loop.dropCloseCallback(ofPollOn: pipe)
        // The library's remaining callbacks use this object.
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

/// The context of a callback: its user pointer, alive until the library has freed it. Begins the loop's turn.
func context(of wsi: OpaquePointer) -> LWSContext {
    let context = Unmanaged<LWSContext>.fromOpaque(lws_context_user(lws_get_context(wsi))!).takeUnretainedValue()
    context.loop.turnBegan()
    return context
}
