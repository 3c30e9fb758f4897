import AdminProtocol
import CallVocabulary
import EventLoop
import LibWebSockets
import TLS

/// A program's connection to a server's admin API. Any thread. It does not reconnect: create another client.
///
/// ```swift
/// let client = try AdminClient(socket: socket)
/// let groups = try await client.all(ListGroups())
/// await client.close()
/// ```
public final class AdminClient: Sendable {
    /// The default timeout of a request.
    public static let standardPatience = Duration.seconds(10)

    private let loop: EventLoop
    private let driver: LoopBound<AdminDriver>

    /// Connects on a new thread. Requests report a failure to connect.
    /// - Throws: `SystemError` when the process is out of descriptors.
    public convenience init(socket: SocketAddress, patience: Duration = AdminClient.standardPatience) throws {
        try self.init(.socket(socket), patience: patience)
    }

    /// Connects over TCP to a server with a TCP admin listener.
    /// - Parameters:
    ///   - url: `wss://host:port`, or `ws://` on this machine; without a path, the admin API's path is used.
    ///   - token: the token in the server's configuration.
    ///   - trust: the trust anchors for the server's certificate.
    ///   - identity: the certificate to show to a server that asks for one.
    /// - Throws: `SystemError` when the process is out of descriptors.
    public convenience init(
        url: WebSocketURL, token: String, trust: LWSContext.Trust = .system, identity: TLSFiles? = nil,
        patience: Duration = AdminClient.standardPatience
    ) throws {
        try self.init(.network(url, token: token, trust, identity), patience: patience)
    }

    private init(_ server: AdminServer, patience: Duration) throws {
        let loop = try EventLoop(name: "admin client")
        self.loop = loop
        driver = LoopBound(AdminDriver(loop: loop, server: server, patience: patience), on: loop)
        loop.start()
        loop.execute { [driver] in driver.value.connect() }
    }

    /// Sends a request and waits for the answer. Several requests may be in flight at once.
    public func perform<Request: AdminRequest>(
        _ request: Request
    ) async throws(AdminFailure) -> Request.Response {
        try await ask(request, listener: nil)
    }

    /// Reads a list page by page.
    /// - Parameter limit: the most items to return.
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

    /// Subscribes, and returns once the server has accepted the subscription.
    /// - Parameter handler: called on the client's own thread and must not block. It gets each notification in order,
    ///   and finally the end, also after ``close()``. Never called when this throws.
    /// - Returns: the subscription's number for ``Unsubscribe``.
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
            // Notifications of another protocol version are an error, not partial data.
            throw .notTaken(error)
        }
    }

    /// Closes the connection and ends the thread. Unanswered requests fail with ``AdminFailure/lost(_:)``.
    public func close() async {
        loop.execute { [driver] in driver.value.close() }
        await loop.stopAndWait()
    }

    deinit {
        let driver = self.driver
        // The loop has stopped after `close()`, and the driver is closed with it.
        loop.execute { driver.value.close() }
        loop.stop()
    }
}

/// An event of a subscription.
public enum SubscriptionEvent<Notification: Sendable>: Sendable {
    case notification(Notification)
    /// The last event of the subscription.
    case ended(AdminFailure)
}
