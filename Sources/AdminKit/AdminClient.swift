import AdminProtocol
import CallVocabulary
import EventLoop
import LibWebSockets

/// A program's connection to a server's admin API. Any thread. It does not come back by itself: make another.
///
/// ```swift
/// let client = try AdminClient(socket: socket)
/// let groups = try await client.all(ListGroups())
/// await client.close()
/// ```
public final class AdminClient: Sendable {
    /// How long to wait for an answer, unless told otherwise.
    public static let standardPatience = Duration.seconds(10)

    private let loop: EventLoop
    private let driver: LoopBound<AdminDriver>

    /// Connects on a thread of its own; how that goes is told by the requests.
    /// - Throws: `SystemError` when the process is out of descriptors.
    public convenience init(socket: SocketAddress, patience: Duration = AdminClient.standardPatience) throws {
        try self.init(.socket(socket), patience: patience)
    }

    /// Connects over TCP, to a server whose admin API listens there.
    /// - Parameters:
    ///   - url: `wss://host:port`, or `ws://` on this machine; without a path it is the admin API's.
    ///   - token: the one in the server's configuration.
    ///   - trust: which certificates the server may show.
    /// - Throws: `SystemError` when the process is out of descriptors.
    public convenience init(
        url: WebSocketURL, token: String, trust: LWSContext.Trust = .system,
        patience: Duration = AdminClient.standardPatience
    ) throws {
        try self.init(.network(url, token: token, trust), patience: patience)
    }

    private init(_ server: AdminServer, patience: Duration) throws {
        let loop = try EventLoop(name: "admin client")
        self.loop = loop
        driver = LoopBound(AdminDriver(loop: loop, server: server, patience: patience), on: loop)
        loop.start()
        loop.execute { [driver] in driver.value.connect() }
    }

    /// Asks, and waits for the answer. Requests may be under way together.
    public func perform<Request: AdminRequest>(
        _ request: Request
    ) async throws(AdminFailure) -> Request.Response {
        try await ask(request, listener: nil)
    }

    /// Asks for a list page by page.
    /// - Parameter limit: how many to gather at most.
    public func all<Request: AdminListRequest>(
        _ request: Request, atMost limit: Int = .max
    ) async throws(AdminFailure) -> [Request.Item] {
        var request = request
        var items: [Request.Item] = []
        var begun: Set<String> = []
        while true {
            let page = try await perform(request)
            items += page.items
            guard items.count < limit, let next = page.next else { return Array(items.prefix(limit)) }
            guard begun.insert(next).inserted else {
                throw .notTaken(
                    AdminError(SignalError(.internalError, "The pages of the list go in circles.")))
            }
            request.after = next
        }
    }

    /// Subscribes, and returns once the server has taken it.
    /// - Parameter handler: called on the client's own thread, so it is not to block: with each notification in order,
    ///   and at last with the end, also after ``close()``. Not at all when this throws.
    /// - Returns: names it to ``Unsubscribe``.
    @discardableResult
    public func subscribe<Subscription: AdminSubscription>(
        _ subscription: Subscription,
        _ handler: @escaping @Sendable (SubscriptionEvent<Subscription.Notification>) -> Void
    ) async throws(AdminFailure) -> Int {
        let started = try await ask(subscription) { event in
            switch event {
            case .success(let frame):
                let notification = try? AdminFrameReader.notification(Subscription.Notification.self, in: frame)
                if let notification { handler(.notification(notification)) }
            case .failure(let failure): handler(.ended(failure))
            }
        }
        return started.subscription
    }

    private func ask<Request: AdminRequest>(
        _ request: Request, listener: AdminSession.Listener?
    ) async throws(AdminFailure) -> Request.Response {
        let result: Result<[UInt8], AdminFailure> = await withCheckedContinuation { continuation in
            let isAsked = loop.execute { [driver] in
                driver.value.ask(request, listener) { continuation.resume(returning: $0) }
            }
            if !isAsked { continuation.resume(returning: .failure(.lost("the client is closed"))) }
        }
        let frame = try result.get()
        do {
            return try AdminFrameReader.result(Request.Response.self, in: frame)
        } catch {
            // An answer of another version is better told as that than taken for half of one.
            throw .notTaken(error)
        }
    }

    /// Hangs up and ends the thread; what is not answered yet fails as ``AdminFailure/lost(_:)``.
    public func close() async {
        loop.execute { [driver] in driver.value.close() }
        await loop.stopAndWait()
    }

    deinit {
        let driver = self.driver
        // After a `close()` there is nothing left to be done.
        loop.execute { driver.value.close() }
        loop.stop()
    }
}

/// What a subscription brings.
public enum SubscriptionEvent<Notification: Sendable>: Sendable {
    case notification(Notification)
    /// There will be no more.
    case ended(AdminFailure)
}
