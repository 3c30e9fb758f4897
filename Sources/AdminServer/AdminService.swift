import AdminProtocol
import CallCore
import CallVocabulary
import EventLoop
import Glibc
import LibWebSockets
import Logging
import Synchronization
import TLS
import WebSocketServer

/// The admin API's listeners. JSON-RPC over WebSocket on a Unix socket in the data folder, for the user who runs the
/// server (mode 0600), and on TCP with a bearer token, if configured.
///
/// The service has its own thread. A long list of groups, or a client that sends requests in a tight loop, would block
/// calls on a shard's thread. On its own thread, a request costs the call path one input of the core.
package final class AdminService: Sendable {
    /// Releases the shard when its loop is released.
    private final class Slot {
        weak var shard: AdminShard?

        func receive(_ messages: inout [AdminMessage]) {
            if let shard { return shard.receive(&messages) }
            // Completes pending requests, which get no figures.
            for case .liveFigures(let completion) in messages { completion(nil) }
        }
    }

    /// The TCP listener's address, credential and certificate.
    package struct NetworkListener: Sendable {
        let address: SocketAddress
        let token: BearerToken
        let readToken: BearerToken?
        let tls: TLSFiles?
        let clients: ClientAuthorities?

        package init(
            address: SocketAddress, token: BearerToken, readToken: BearerToken? = nil, tls: TLSFiles?,
            clients: ClientAuthorities? = nil
        ) {
            self.address = address
            self.token = token
            self.readToken = readToken
            self.tls = tls
            self.clients = clients
        }
    }

    /// The socket's path is taken by a live server or by a file that is not a socket.
    package struct SocketTaken: Error {
        package let socket: SocketAddress
    }

    /// What the socket's listener was started with.
    private struct Made {
        let mailbox: Mailbox<AdminMessage>
        let feed: MonitorFeed
        let slot: LoopBound<Slot>
    }

    /// The most connected administrators: people and tools need fewer, so more indicates a connection leak.
    static let mostConnections = 64
    /// The most connections over TCP of which one may have the token for reading. The other places are for
    /// administrators, and for clients that have not shown a token yet.
    static let mostWithReaders = 48
    /// The serial of the first connection over TCP. The shard identifies connections by serial number, so the two
    /// listeners' numbers must not overlap.
    static let firstSerialOfNetwork: UInt64 = 1 << 32
    /// The most waiting batches of the feed, which bounds records by itself.
    private static let mostMessages = 1 << 17
    /// The most bytes queued for one connection: some frames.
    private static let queuedBytes = 8 * AdminEndpoint.longestFrame

    /// Carries the core's answers. Each request has one answer and requests are bounded: always post answers.
    package let mailbox: Mailbox<AdminMessage>
    /// The TCP listener's address, with the port that the system chose for port 0.
    package let address: SocketAddress?
    /// Runs on the socket listener's loop, so it stops first.
    private let network: WebSocketServer?
    /// Receives all committed records.
    package let feed: MonitorFeed
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

    /// Starts the listeners. The caller holds the lock on the data folder, so an existing socket without a listener
    /// belongs to a dead server.
    /// - Throws: ``SocketTaken`` when the path is taken by anything but a dead server's socket;
    ///   `TLSCertificate.Failure` for an unusable certificate of `listener`; else `SystemError`.
    package static func start(
        at socket: SocketAddress, listener: NetworkListener? = nil, environment: AdminShard.Environment
    ) async throws -> AdminService {
        var configuration = configuration(at: socket, environment.log)
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
            throw SocketTaken(socket: socket)
        }
        guard let made = made.withLock({ $0 }) else { preconditionFailure("a server that started has its handler") }
        let network = listener.map { Self.network($0, made.slot, environment) }
        do {
            let address = try await network?.start()
            if let address {
                environment.log.info("the admin API is listening", metadata: ["address": .string("\(address)")])
            }
            return AdminService(
                mailbox: made.mailbox, feed: made.feed, webSockets: webSockets, network: network, address: address)
        } catch {
            await webSockets.stop(closeCode: CloseCode.shutdown.rawValue, reason: "", grace: .zero)
            throw error
        }
    }

    private static func configuration(
        at address: SocketAddress, _ log: Logger
    ) -> WebSocketServer.Configuration {
        var configuration = WebSocketServer.Configuration(address: address)
        configuration.path = AdminEndpoint.path
        configuration.subprotocol = AdminEndpoint.subprotocol
        configuration.maxFrameBytes = AdminEndpoint.longestFrame
        configuration.maxQueuedBytes = queuedBytes
        configuration.maxConnections = mostConnections
        configuration.onPressure = { $0.warn(of: "the admin API", log) }
        return configuration
    }

    /// The TCP listener, with the same shard on the same loop as the socket's listener.
    private static func network(
        _ listener: NetworkListener, _ slot: LoopBound<Slot>, _ environment: AdminShard.Environment
    ) -> WebSocketServer {
        var configuration = configuration(at: listener.address, environment.log)
        configuration.tls = listener.tls
        configuration.clientAuthorities = listener.clients
        configuration.bearerToken = listener.token
        configuration.readingToken = listener.readToken
        configuration.isPublic = environment.isPublic
        configuration.firstSerial = firstSerialOfNetwork
        return WebSocketServer(configuration: configuration, loop: slot.loop) { _, _ in
            guard let shard = slot.value.shard else { preconditionFailure("the socket's listener has the shard") }
            return shard
        }
    }

    /// The TCP listener's certificate; nil without TLS.
    package var certificate: TLSCertificate? { network?.certificate }

    /// Those of the certificates that the TCP listener asks for; nil if it asks for none.
    package var clientAuthorities: ClientAuthorities? { network?.configuration.clientAuthorities }

    /// Applies the values that are not nil to new connections, and closes those of tokens that are gone. A certificate
    /// requires a listener with TLS.
    /// - Parameter readToken: goes with `token`; nil for none.
    package func reload(token: BearerToken?, readToken: BearerToken?, certificate: TLSCertificate?) async {
        if let token { await network?.replaceBearerToken(with: token, reading: readToken) }
        if let certificate { await network?.replaceCertificate(with: certificate) }
    }

    /// Loads the monitor's initial state. Call it before the first batch.
    package func begin(with recovered: RecoveredState) { mailbox.postAlways(.loaded(0, .success(recovered))) }

    /// The monitor's figures for metrics; nil after the stop.
    package func liveFigures() async -> LiveFigures? {
        await withCheckedContinuation { continuation in
            let isAsked = mailbox.postAlways(.liveFigures { continuation.resume(returning: $0) })
            if !isAsked { continuation.resume(returning: nil) }
        }
    }

    /// Refuses new administrators, closes open connections (3000) and ends the thread.
    package func stop(grace: Duration) async {
        let (code, words) = (CloseCode.shutdown.rawValue, CloseCode.shutdown.explanation)
        await network?.stop(closeCode: code, reason: words, grace: grace)
        await webSockets.stop(closeCode: code, reason: words, grace: grace)
    }
}

extension ConnectionPressure.Report {
    /// Logs that a listener for operators has no room.
    package func warn(of listener: String, _ log: Logger) {
        log.warning(
            "\(listener) has no room: connections were refused, or silent ones closed; end programs that keep many open",
            metadata: [
                "address": .string(peer), "cause": .string(cause.rawValue), "times": .stringConvertible(count),
            ])
    }
}
