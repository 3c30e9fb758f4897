import AdminKit
import AdminProtocol
import CallCore
import CallStore
import CallVocabulary
import EventJournal
import EventLoop
import LibWebSockets
import Logging
import OutgoingHTTP
import StoreInterface
import Synchronization
import TestCleanup
import Testing
import WebhookClient

@testable import AdminServer
@testable import CallServer

/// An admin service on its own socket, and on TCP if a listener is given, with the test as the core.
final class AdminFixture: Sendable {
    typealias Answer = Result<AdminReply, AdminRefusal>

    let folder: DataFolder
    let socket: SocketAddress
    let asked = Journal<CoreInput>()
    let core: EventLoop
    let inbox: Mailbox<CoreInput>
    let service: AdminService
    /// With which the service reads the store: after their end it cannot.
    let queries: any StoreQueries

    private final class Slot: Sendable {
        let mailbox = Mutex<Mailbox<AdminMessage>?>(nil)
    }

    /// - Parameters:
    ///   - endpoint: the name of a webhook endpoint, which nobody serves; nil for none.
    ///   - reply: the core's answer to a command; nil leaves it to ``answer(_:_:)``.
    ///   - settle: lets a list of groups or aliases be read.
    init(
        inboxCapacity: Int = 1000, listener: AdminListenerConfiguration? = nil, log: Logger = .none,
        endpoint: String? = nil, figures: FigureSources = .plain(nil),
        _ reply: @escaping @Sendable (AdminCommand) -> Answer? = { _ in nil },
        settle: @escaping @Sendable (@escaping @Sendable (Bool) -> Void) -> Void = { $0(true) }
    ) async throws {
        folder = try .temporary()
        socket = try folder.adminSocket()
        core = try .started("core")
        let (asked, slot) = (self.asked, Slot())
        inbox = Mailbox(loop: core, capacity: inboxCapacity) { inputs in
            for input in inputs {
                asked.append(input)
                guard case .administered(let request, let command) = input, let answer = reply(command) else {
                    continue
                }
                slot.mailbox.withLock { $0 }?.postAlways(.answered(request, answer))
            }
        }
        let hooks = AdminHooks(setLogLevel: { $0 ?? "info" }, stop: {})
        var environment = try AdminShard.Environment.plain(
            folder, core: inbox, hooks: hooks, log: log, figures: figures, settle: settle)
        queries = environment.reads.queries
        environment.webhooks = try await Self.webhooks(environment.reads.queries, endpoint)
        service = try await AdminService.start(
            at: socket, listener: listener?.networkListener(), environment: environment)
        slot.mailbox.withLock { $0 = service.mailbox }
        atEnd { await self.end() }
    }

    private static func webhooks(
        _ queries: any StoreQueries, _ endpoint: String?
    ) async throws -> WebhookService? {
        guard let endpoint, let address = WebAddress("http://127.0.0.1:1/"),
            let secret = WebhookSecret(WebhookSecret.make())
        else { return nil }
        let clock = ServerClock()
        let webhooks = try WebhookService(
            WebhookService.Environment(
                queries: queries, now: { clock.now() }, wall: { clock.wall($0) }, wallTime: { clock.wallTime() },
                load: { nil }, save: { _ in }, userAgent: "test", log: .none))
        try await webhooks.start([WebhookEndpoint(name: endpoint, address: address, secrets: [secret])])
        atEnd { await webhooks.stop() }
        return webhooks
    }

    /// Writes records to the store that the service reads.
    func store(_ records: [StoreRecord]) throws {
        let store = try CallStore.open(folder: folder.path)
        defer { store.close() }
        try store.commit(records)
    }

    func client(patience: Duration = AdminClient.standardPatience) throws -> AdminClient {
        try .connected(to: socket, patience: patience)
    }

    /// The URL of the service on TCP.
    func url(isSecure: Bool = false) throws -> WebSocketURL {
        WebSocketURL(isSecure: isSecure, host: "localhost", port: try #require(service.address).port, path: "/")
    }

    /// Waits until the core got `count` requests in total.
    func requests(_ count: Int) async throws -> [(AdminRequestID, AdminCommand)] {
        try await asked.wait(for: "\(count) requests") { $0.count >= count }
        return asked.entries.compactMap {
            if case .administered(let id, let command) = $0 { (id, command) } else { nil }
        }
    }

    func answer(_ request: AdminRequestID, _ answer: Answer) {
        service.mailbox.postAlways(.answered(request, answer))
    }

    /// Answers the next request, number `count` in total.
    func answer(_ count: Int, _ answer: Answer) async throws -> AdminCommand {
        let (request, command) = try await requests(count)[count - 1]
        self.answer(request, answer)
        return command
    }

    func end() async {
        await service.stop(grace: .milliseconds(200))
        await core.stopAndWait()
    }
}

extension AdminClient {
    /// The comparable result of a request.
    func outcome<Request: AdminRequest>(_ request: Request) async -> Result<Request.Response, AdminFailure> {
        do throws(AdminFailure) { return .success(try await perform(request)) } catch { return .failure(error) }
    }

    func outcome<Request: AdminListRequest>(ofAll request: Request) async -> Result<[Request.Item], AdminFailure> {
        do throws(AdminFailure) { return .success(try await all(request)) } catch { return .failure(error) }
    }
}

/// Lets reads begin, and holds them until the test lets them go on.
final class HeldReads: Sendable {
    /// How many were held when one more began.
    let begun = Journal<Int>()
    private let held = Mutex<[@Sendable (Bool) -> Void]>([])

    func hold(_ read: @escaping @Sendable (Bool) -> Void) {
        let count = held.withLock { held in
            held.append(read)
            return held.count
        }
        begun.append(count)
    }

    /// The one that is held for the longest time goes on.
    func letGo() {
        let first = held.withLock { $0.removeFirst() }
        first(true)
    }

    func wait(for count: Int) async throws { try await begun.wait(for: "\(count) reads") { $0.count >= count } }
}
