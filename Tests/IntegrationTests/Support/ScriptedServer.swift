import AdminProtocol
import CallServer
import CallVocabulary
import EventLoop
import Synchronization
import TestCleanup
import WebSocketServer

/// An admin API with scripted data, on the socket of a data folder, for states that a real server reaches only slowly.
final class ScriptedServer: Sendable {
    /// Calls in one notification of the initial state: well below the longest frame.
    private static let pageSize = 200

    struct Picture: Sendable {
        var info: ServerInfo
        var calls: [CallID: CallView] = [:]
        var stats: StatsView?
        /// The error for every request; nil for normal results.
        var refusal: AdminError?
    }

    /// The calls that requests ended.
    let ended = Journal<CallID>()
    /// The intervals of statistics subscriptions, in ms.
    let intervals = Journal<Int>()
    fileprivate let picture: Mutex<Picture>
    private let webSockets: Mutex<WebSocketServer?> = Mutex(nil)
    private let handler: Mutex<LoopBound<ScriptedAdmin>?> = Mutex(nil)

    private init(_ picture: Picture) { self.picture = Mutex(picture) }

    static func start(in folder: String, _ picture: Picture) async throws -> ScriptedServer {
        try DataFolder(path: folder).prepare()
        let server = ScriptedServer(picture)
        var configuration = WebSocketServer.Configuration(address: try SocketAddress(path: folder + "/admin.sock"))
        configuration.soleLoop = "scripted"
        configuration.path = AdminEndpoint.path
        configuration.subprotocol = AdminEndpoint.subprotocol
        configuration.maxFrameBytes = AdminEndpoint.longestFrame
        configuration.maxQueuedBytes = 1 << 26
        let webSockets = try WebSocketServer(configuration: configuration) { [server] _, loop in
            let admin = ScriptedAdmin(server: server)
            server.handler.withLock { $0 = LoopBound(admin, on: loop) }
            return admin
        }
        _ = try await webSockets.start()
        server.webSockets.withLock { $0 = webSockets }
        atEnd { await server.stop() }
        return server
    }

    func stop() async {
        await webSockets.withLock { $0.take() }?.stop(closeCode: 3000, reason: "shutdown", grace: .milliseconds(200))
    }

    /// Changes the calls, and notifies the subscribers.
    func tell(_ calls: [CallView], gone: [CallID] = []) {
        picture.withLock { picture in
            for call in calls { picture.calls[call.callID] = call.state.isLive ? call : nil }
            for id in gone { picture.calls[id] = nil }
        }
        onLoop { $0.tell(calls, gone: gone) }
    }

    func tell(_ stats: StatsView) {
        picture.withLock { $0.stats = stats }
        onLoop { $0.tell(stats) }
    }

    private func onLoop(_ body: @escaping @Sendable (ScriptedAdmin) -> Void) {
        guard let handler = handler.withLock({ $0 }) else { return }
        handler.loop.execute { body(handler.value) }
    }

    fileprivate func pages() -> [CallsChanged] {
        let calls = picture.withLock { Array($0.calls.values) }
        var pages = stride(from: 0, to: calls.count, by: Self.pageSize).map { start in
            CallsChanged(
                subscription: 1, calls: Array(calls[start..<min(start + Self.pageSize, calls.count)]), gone: [],
                isComplete: false, isReset: start == 0)
        }
        if pages.isEmpty {
            pages = [CallsChanged(subscription: 1, calls: [], gone: [], isComplete: true, isReset: true)]
        }
        pages[pages.count - 1].isComplete = true
        return pages
    }
}

/// The loop-confined part of it.
private final class ScriptedAdmin: ShardHandler {
    private unowned let server: ScriptedServer
    /// The subscribers, with their subscriptions.
    private var subscribers: [UInt64: (connection: WebSocketConnection, method: AdminMethod)] = [:]

    init(server: ScriptedServer) { self.server = server }

    func connectionOpened(_ connection: WebSocketConnection) {}
    func connectionClosed(_ connection: WebSocketConnection) { subscribers[connection.serial] = nil }

    func received(_ text: UnsafeRawBufferPointer, on connection: WebSocketConnection) {
        switch AdminFrameReader.call(text) {
        case .success(let call): answer(call, connection)
        case .failure(let failure): connection.send(AdminFrameWriter.error(id: failure.id, failure.error))
        }
    }

    private func answer(_ call: AdminCall, _ connection: WebSocketConnection) {
        let method = type(of: call.request).method
        let picture = server.picture.withLock { $0 }
        func reply(_ response: some Encodable) { connection.send(AdminFrameWriter.result(id: call.id, response)) }
        if let refusal = picture.refusal {
            connection.send(AdminFrameWriter.error(id: call.id, refusal))
            return
        }
        switch call.request {
        case is GetServerInfo: reply(picture.info)
        case let request as GetCall:
            if let found = picture.calls[request.callID] {
                reply(Self.story(of: found))
            } else {
                let refusal = AdminError(AdminRefusal(.notFound, "There is no such call."))
                connection.send(AdminFrameWriter.error(id: call.id, refusal))
            }
        case let request as EndCall:
            reply(Done())
            server.ended.add(request.callID)
            if var call = picture.calls[request.callID] {
                call.state = .ended
                call.reason = .admin
                call.endedAt = Timestamp(Instant(milliseconds: call.createdAt.instant.milliseconds + 60_000))
                server.tell([call])
            }
        case is SubscribeToCalls:
            subscribers[connection.serial] = (connection, method)
            reply(SubscriptionStarted(subscription: 1))
            for page in server.pages() {
                connection.send(AdminFrameWriter.notification(of: .callSubscribe, page))
            }
        case let request as SubscribeToStats:
            subscribers[connection.serial] = (connection, method)
            server.intervals.add(request.intervalMilliseconds ?? 1000)
            reply(SubscriptionStarted(subscription: 1))
            if let stats = picture.stats { tell(stats) }
        case is GetStats: if let stats = picture.stats { reply(stats) }
        default: reply(Done())
        }
    }

    func tell(_ calls: [CallView], gone: [CallID]) {
        let change = CallsChanged(subscription: 1, calls: calls, gone: gone, isComplete: true)
        let frame = AdminFrameWriter.notification(of: .callSubscribe, change)
        for (connection, method) in subscribers.values where method == .callSubscribe { connection.send(frame) }
    }

    func tell(_ stats: StatsView) {
        let frame = AdminFrameWriter.notification(
            of: .statsSubscribe, StatsChanged(subscription: 1, stats: stats))
        for (connection, method) in subscribers.values where method == .statsSubscribe { connection.send(frame) }
    }

    private static func story(of call: CallView) -> CallDetail {
        var detail = CallDetail(call: call, legs: [], pushes: [], timeline: [])
        for (step, offset) in [("invited", 0), ("push_sent", 4), (call.state.rawValue, 900)] {
            var entry = TimelineEntryView(
                at: Timestamp(Instant(milliseconds: call.createdAt.instant.milliseconds + Int64(offset))),
                offsetMilliseconds: Int64(offset), step: step)
            entry.user = call.from
            detail.timeline.append(entry)
        }
        return detail
    }
}
