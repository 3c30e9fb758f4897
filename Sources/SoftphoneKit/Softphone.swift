import CallVocabulary
import EventLoop
import LibWebSockets
import SoftphoneSession

/// A phone for a Reveille server: registers, places and answers calls, and reconnects by itself.
///
/// Any thread may use it. It runs on the loop of its ``SoftphoneRuntime``; ``EventHandler`` and the completions of
/// ``submit(_:completion:)`` are called there and must not block. A released phone drops its connection; call
/// ``disconnect()`` first to go offline in order.
public final class Softphone: Sendable {
    /// The source of the token for `session.open`.
    public enum TokenSource: Redacted, Sendable {
        case fixed(String)
        /// Called before each attempt to connect, so that an expired token is never used.
        case provider(@Sendable () async throws -> String)
    }

    /// Called on the loop's thread with each event, in order. It must return quickly and may submit commands.
    public typealias EventHandler = @Sendable (Softphone, SoftphoneEvent) -> Void

    public struct Configuration: Sendable {
        /// `ws://host:port` or `wss://host`, with a path if it is not `/v1/signal`.
        public var url: String
        public var token: TokenSource
        /// The device, its push tokens, timeouts and automatic actions.
        public var session: ClientSession.Configuration
        /// The longest time that ``Softphone/connect()`` tries.
        public var connectLimit: Duration = .seconds(30)
        /// The seed for the spread of reconnects; each phone needs its own.
        public var seed = UInt64.random(in: .min ... .max)

        public init(url: String, token: TokenSource, device: DeviceDescription, push: [PushToken]? = nil) {
            self.url = url
            self.token = token
            session = ClientSession.Configuration(device: device, push: push)
        }

        public init(url: String, token: String, device: DeviceDescription, push: [PushToken]? = nil) {
            self.init(url: url, token: .fixed(token), device: device, push: push)
        }
    }

    /// The WebSocket subprotocol.
    public static let subprotocol = "reveille.v1"
    /// The path of the server's WebSocket.
    public static let path = "/v1/signal"

    public let configuration: Configuration
    public let runtime: SoftphoneRuntime
    private let driver: LoopBound<PhoneDriver>

    /// - Parameters:
    ///   - runtime: for phones that share a thread; nil makes one for this phone.
    ///   - onEvent: see ``EventHandler``; async code uses ``events(buffering:)``.
    /// - Throws: `SoftphoneError.badURL`; `SystemError` without descriptors.
    public init(
        configuration: Configuration, runtime: SoftphoneRuntime? = nil, onEvent: EventHandler? = nil
    ) throws {
        guard let parsed = WebSocketURL(configuration.url) else { throw SoftphoneError.badURL(configuration.url) }
        let url =
            parsed.path == "/"
            ? WebSocketURL(isSecure: parsed.isSecure, host: parsed.host, port: parsed.port, path: Self.path) : parsed
        let runtime = try runtime ?? SoftphoneRuntime()
        self.configuration = configuration
        self.runtime = runtime
        let driver = PhoneDriver(
            configuration: configuration, url: url, loop: runtime.loop, runtime: runtime.state, onEvent: onEvent)
        self.driver = LoopBound(driver, on: runtime.loop)
        driver.phone = self
    }

    /// Makes a phone on an existing loop. Phones that also share a context share a ``SoftphoneRuntime``.
    public convenience init(
        configuration: Configuration, loop: EventLoop, onEvent: EventHandler? = nil
    ) throws {
        try self.init(configuration: configuration, runtime: SoftphoneRuntime(loop: loop), onEvent: onEvent)
    }

    deinit {
        let driver = self.driver
        let isRunning = driver.loop.execute { driver.value.shutDown() }
        if !isRunning { Remains.keep(driver) }
    }

    // MARK: Online and offline

    /// Goes online and stays online until ``disconnect()``: retries when a connection fails or is lost.
    ///
    /// While the phone waits for a retry, this retries at once: call it when the network is available again.
    public func start() {
        onLoop { $0.take(.started(ticket: nil, limit: nil)) }
    }

    /// Goes online, and returns when the session is open. Afterwards the phone stays online as after ``start()``.
    /// - Throws: `gone` for permanent failures, `notConnected` after `connectLimit`; the phone is offline then.
    @discardableResult
    public func connect() async throws(SoftphoneError) -> SessionOpened {
        let limit = configuration.connectLimit
        do throws(SoftphoneError) {
            let reply = try await result { .started(ticket: $0, limit: limit) }
            guard case .opened(let opened) = reply else { throw .unexpectedReply }
            return opened
        } catch {
            if case .notConnected = error { onLoop { $0.take(.stopped(ticket: nil)) } }
            throw error
        }
    }

    /// Goes offline: the server is notified at once, and pushes from then on. Returns when done, after at most 2 s.
    public func disconnect() async {
        // Succeeds in every state; a phone with a stopped loop is offline.
        _ = try? await result { .stopped(ticket: $0) }
    }

    /// Goes offline like ``disconnect()`` without waiting; `ConnectionChange.offline` reports the end.
    public func stop() {
        onLoop { $0.take(.stopped(ticket: nil)) }
    }

    /// Goes offline and deletes this device's push tokens on the server: calls no longer reach it.
    public func logout() async throws(SoftphoneError) {
        _ = try await submit(.logout)
    }

    /// Drops the socket and all state, as if the app had been killed. No event follows.
    public func abandon() {
        onLoop { $0.take(.abandoned) }
    }

    /// Drops the socket, as after a network failure; the phone reconnects and resumes.
    public func cutConnection() {
        onLoop { $0.take(.cut) }
    }

    // MARK: Events and calls

    /// The events from now on. Each call makes a new stream.
    /// - Parameter limit: the most events that wait for a slow reader. Beyond that the oldest are dropped, and
    ///   ``calls()`` has the present state.
    public func events(buffering limit: Int = 1024) -> AsyncStream<SoftphoneEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SoftphoneEvent.self, bufferingPolicy: .bufferingNewest(limit))
        let id = EventStreamID()
        let driver = self.driver
        continuation.onTermination = { _ in driver.loop.execute { driver.value.receivers.removeStream(id) } }
        let isRunning = onLoop { driver in
            driver.receivers.addStream(id, yield: { continuation.yield($0) }, finish: { continuation.finish() })
        }
        if !isRunning { continuation.finish() }
        return stream
    }

    /// The live calls, oldest first.
    public func calls() async -> [PhoneCall] {
        let driver = self.driver
        return await driver.loop.run { driver.value.session.liveCalls } ?? []
    }

    /// The time since this machine received the last bytes from the server, to some milliseconds: the processing delay
    /// of a busy app. nil when unknown. On the loop's thread only.
    package var lastReceivedAge: Duration? { driver.value.lastReceivedAge }

    /// Passes on a push's payload from the app's push handler. The call is announced at once
    /// (`SoftphoneEvent.incoming`), and the phone goes online.
    public func received(_ push: CallPush) {
        onLoop { $0.take(.pushReceived(push)) }
    }

    // MARK: Commands

    /// Submits a command; `completion` is called once, on the loop's thread. The cheapest way for many phones.
    ///
    /// On the loop's own thread it takes effect before this returns.
    public func submit(
        _ command: ClientRequest, completion: @escaping @Sendable (Result<Reply, SoftphoneError>) -> Void
    ) {
        let isRunning = onLoop { driver in
            driver.take(completion) { .commanded(command, ticket: $0) }
        }
        if !isRunning { completion(.failure(.closed)) }
    }

    /// Submits a command and waits for its result.
    @discardableResult
    public func submit(_ command: ClientRequest) async throws(SoftphoneError) -> Reply {
        try await result { .commanded(command, ticket: $0) }
    }

    /// Sends ICE candidates to the other side. They are queued while there is no connection.
    public func sendCandidates(_ candidates: CallCandidates) {
        onLoop { $0.take(.gathered(candidates)) }
    }

    private func result(
        of input: @escaping @Sendable (CommandTicket) -> SessionInput
    ) async throws(SoftphoneError) -> Reply {
        let result: Result<Reply, SoftphoneError> = await withCheckedContinuation { continuation in
            let isRunning = onLoop { driver in
                driver.take({ continuation.resume(returning: $0) }, input)
            }
            if !isRunning { continuation.resume(returning: .failure(.closed)) }
        }
        return try result.get()
    }

    /// - Returns: false when the loop has stopped and `body` will not run.
    @discardableResult
    private func onLoop(_ body: @escaping @Sendable (PhoneDriver) -> Void) -> Bool {
        let driver = self.driver
        if driver.loop.isCurrent {
            body(driver.value)
            return true
        }
        return driver.loop.execute { body(driver.value) }
    }
}
