import AdminProtocol
import CallCore
import CallVocabulary
import EventLoop
import Glibc
import LibWebSockets
import Logging
import Synchronization
import WebSocketServer

/// The admin API's listeners. JSON-RPC over WebSocket on a Unix socket in the data folder, for the user who runs the
/// server (mode 0600), and on TCP with a bearer token, if configured.
///
/// It has a thread of its own. On a shard's thread, which may be the core's, a list of thousands of groups or a client
/// in a tight loop would delay calls. Here a request costs the call path one input of the core.
final class AdminService: Sendable {
    /// Releases the shard with its loop.
    private final class Slot {
        weak var shard: AdminShard?

        func receive(_ messages: inout [AdminMessage]) {
            if let shard { return shard.receive(&messages) }
            // Completes pending requests, which get no figures.
            for case .liveFigures(let completion) in messages { completion(nil) }
        }
    }

    /// Objects created while the socket's listener started.
    private struct Made {
        let mailbox: Mailbox<AdminMessage>
        let feed: MonitorFeed
        let slot: LoopBound<Slot>
    }

    /// The most connected administrators: people and tools need fewer, so more indicates a connection leak.
    private static let mostConnections = 64
    /// The most waiting batches of the feed, which bounds records by itself.
    private static let mostMessages = 1 << 17
    /// The most bytes queued for one connection: some frames.
    private static let queuedBytes = 8 * AdminEndpoint.longestFrame

    /// The mailbox for the core's answers. Post them unconditionally: there is one for each request, and requests are
    /// bounded.
    let mailbox: Mailbox<AdminMessage>
    /// The TCP address, with the port chosen for port 0.
    let address: SocketAddress?
    /// Shares the socket's loop, so it stops first.
    private let network: WebSocketServer?
    /// Takes all committed records.
    let feed: MonitorFeed
    private let webSockets: WebSocketServer

    private init(
        mailbox: Mailbox<AdminMessage>, feed: MonitorFeed, webSockets: WebSocketServer, network: WebSocketServer?,
        address: SocketAddress?
    ) {
        self.mailbox = mailbox
        self.feed = feed
        self.webSockets = webSockets
        self.network = network
        self.address = address
    }

    /// Starts the listeners. Requires the lock on the data folder, because it removes a socket that a dead server has
    /// left.
    /// - Parameter listener: the TCP listener.
    /// - Throws: `DataFolder.Failure` when the socket's path is taken by anything but a dead server's socket.
    ///   ``ServerConfigurationError`` or `TLSCertificate.Failure` for an unusable `listener`, otherwise `SystemError`.
    static func start(
        at socket: SocketAddress, listener: AdminListenerConfiguration? = nil, environment: AdminShard.Environment
    ) async throws -> AdminService {
        let listening = try listener.map { try (token: $0.checkedToken(), listener: $0) }
        var configuration = configuration(at: socket)
        configuration.soleLoop = "admin"
        let made = Mutex<Made?>(nil)
        let webSockets = try WebSocketServer(configuration: configuration) { _, loop in
            let slot = Slot()
            let mailbox = Mailbox<AdminMessage>(loop: loop, capacity: mostMessages) { slot.receive(&$0) }
            let feed = MonitorFeed(mailbox: mailbox, capacity: environment.feedCapacity)
            let shard = AdminShard(environment: environment, feed: feed, mailbox: mailbox)
            slot.shard = shard
            made.withLock { $0 = Made(mailbox: mailbox, feed: feed, slot: LoopBound(slot, on: loop)) }
            return shard
        }
        do {
            _ = try await webSockets.start()
        } catch let error as SystemError where error.errno == EADDRINUSE {
            throw DataFolder.Failure(
                description:
                    "\(socket) is in the way: the server makes its socket there, and only takes the place of a "
                    + "socket that nobody answers; move it elsewhere")
        }
        guard let made = made.withLock({ $0 }) else { preconditionFailure("a server that started has its handler") }
        let network = listening.map { Self.network($0.listener, $0.token, made.slot) }
        do {
            let address = try await network?.start()
            if let address {
                environment.log.info("the admin API listens", metadata: ["address": .string("\(address)")])
            }
            return AdminService(
                mailbox: made.mailbox, feed: made.feed, webSockets: webSockets, network: network, address: address)
        } catch {
            await webSockets.stop(closeCode: CloseCode.shutdown.rawValue, reason: "", grace: .zero)
            throw error
        }
    }

    private static func configuration(at address: SocketAddress) -> WebSocketServer.Configuration {
        var configuration = WebSocketServer.Configuration(address: address)
        configuration.path = AdminEndpoint.path
        configuration.subprotocol = AdminEndpoint.subprotocol
        configuration.maxFrameBytes = AdminEndpoint.longestFrame
        configuration.maxQueuedBytes = queuedBytes
        configuration.maxConnections = mostConnections
        return configuration
    }

    /// The TCP listener, with the same shard on the same loop as the socket's listener.
    private static func network(
        _ listener: AdminListenerConfiguration, _ token: BearerToken, _ slot: LoopBound<Slot>
    ) -> WebSocketServer {
        var configuration = configuration(at: listener.address)
        configuration.tls = listener.tls
        configuration.bearerToken = token
        // Connection serials must differ between the listeners, because the shard is keyed by them.
        configuration.firstSerial = 1 << 32
        return WebSocketServer(configuration: configuration, loop: slot.loop) { _, _ in
            guard let shard = slot.value.shard else { preconditionFailure("the socket's listener has the shard") }
            return shard
        }
    }

    /// The TCP listener's certificate; nil without TLS.
    var certificate: TLSCertificate? { network?.certificate }

    /// Replaces the token or certificate for new connections; nil keeps the present one. The token must be checked, and
    /// the listener must have a certificate to replace.
    func reload(token: BearerToken?, certificate: TLSCertificate?) async {
        if let token { await network?.replaceBearerToken(with: token) }
        if let certificate { await network?.replaceCertificate(with: certificate) }
    }

    /// Passes the initial state of the monitor; call it before the first batch.
    func begin(with recovered: RecoveredState) { mailbox.postAlways(.loaded(0, .success(recovered))) }

    /// The monitor's figures for metrics; nil after the stop.
    func liveFigures() async -> LiveFigures? {
        await withCheckedContinuation { continuation in
            let isAsked = mailbox.postAlways(.liveFigures { continuation.resume(returning: $0) })
            if !isAsked { continuation.resume(returning: nil) }
        }
    }

    /// Refuses new administrators, closes connections (3000) and ends the thread.
    func stop(grace: Duration) async {
        let (code, words) = (CloseCode.shutdown.rawValue, CloseCode.shutdown.explanation)
        await network?.stop(closeCode: code, reason: words, grace: grace)
        await webSockets.stop(closeCode: code, reason: words, grace: grace)
    }
}
