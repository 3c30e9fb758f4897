import CallCore
import CallVocabulary
import EventLoop
import Glibc
import Logging
import SignalProtocol
import Synchronization
import WebSocketServer

/// The admin API: its listener and the way to it. JSON-RPC over WebSocket on a Unix socket in the data folder, for the
/// user who runs the server (mode 0600).
///
/// It has a thread of its own. On a shard's, a list of thousands of groups being written, or a program that asks in a
/// tight loop, would hold up the calls of that shard's phones; here a request costs the call path one input of the core,
/// and nothing else.
final class AdminService: Sendable {
    /// Administrators connected at most: people and their tools, so more is a program that leaks connections.
    private static let mostConnections = 64
    /// What may wait for one of them: some frames.
    private static let queuedBytes = 8 * AdminLimits.frame

    /// For the core's answers. There is one for each request, and those are bounded: post them always.
    let mailbox: Mailbox<AdminMessage>
    private let webSockets: WebSocketServer

    private init(mailbox: Mailbox<AdminMessage>, webSockets: WebSocketServer) {
        self.mailbox = mailbox
        self.webSockets = webSockets
    }

    /// Listens. The lock on the data folder must be held: it makes a socket that nobody answers on a dead server's.
    /// - Throws: `DataFolder.Failure` when something that is no dead server's socket has its name, else `SystemError`.
    static func start(at socket: SocketAddress, core: Mailbox<CoreInput>, log: Logger) async throws -> AdminService {
        var configuration = WebSocketServer.Configuration(address: socket)
        configuration.soleLoop = "admin"
        configuration.path = AdminProtocol.path
        configuration.subprotocol = AdminProtocol.subprotocol
        configuration.maxFrameBytes = AdminLimits.frame
        configuration.maxQueuedBytes = queuedBytes
        configuration.maxConnections = mostConnections
        let made = Mutex<Mailbox<AdminMessage>?>(nil)
        let webSockets = try WebSocketServer(configuration: configuration) { _, loop in
            let shard = AdminShard(core: core, log: log)
            made.withLock {
                $0 = Mailbox(loop: loop, capacity: AdminShard.mostRequests) { [weak shard] in shard?.receive(&$0) }
            }
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
        guard let mailbox = made.withLock({ $0 }) else { preconditionFailure("a server that started has its handler") }
        return AdminService(mailbox: mailbox, webSockets: webSockets)
    }

    /// Takes no new administrators, sends those who are there away (3000) and ends the thread.
    func stop(grace: Duration) async {
        await webSockets.stop(
            closeCode: CloseCode.shutdown.rawValue, reason: CloseCode.shutdown.explanation, grace: grace)
    }
}
