import CallVocabulary
import EventLoop
import LibWebSockets
import SoftphoneSession
import Synchronization

/// A phone on a Reveille server: registers, places and answers calls, and comes back by itself when the network does.
///
/// May be used from any thread. What it does runs on the loop of its ``SoftphoneRuntime``; ``EventHandler`` and the
/// completions of ``submit(_:completion:)`` are called there and must not block. A phone that is released drops its
/// connection without a word; say ``disconnect()`` first to go offline in order.
public final class Softphone: Sendable {
    /// Where the token for `session.open` comes from.
    public enum TokenSource: Redacted, Sendable {
        case fixed(String)
        /// Asked before each attempt to connect, so that an expired token is never used.
        case provider(@Sendable () async throws -> String)
    }

    /// Called on the loop's thread with each event, in order; it must be quick and may give commands.
    public typealias EventHandler = @Sendable (Softphone, SoftphoneEvent) -> Void

    public struct Configuration: Sendable {
        /// `ws://host:port`, `wss://host`, or with the path where it is not `/v1/signal`.
        public var url: String
        public var token: TokenSource
        /// The device, its push tokens, time-outs and what is done by itself.
        public var session: ClientSession.Configuration
        /// How long ``Softphone/connect()`` tries.
        public var connectLimit: Duration = .seconds(30)
        /// Spreads reconnects; each phone needs its own.
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
    /// Where the server serves it.
    public static let path = "/v1/signal"

    public let configuration: Configuration
    public let runtime: SoftphoneRuntime
    private let driver: LoopBound<PhoneDriver>
    private let streams = Atomic<UInt64>(0)

    /// - Parameters:
    ///   - runtime: shared by phones that are to share a thread; nil makes one for this phone alone.
    ///   - onEvent: see ``EventHandler``; ``events(buffering:)`` is the way for async code.
    /// - Throws: `SoftphoneError.badURL`; `SystemError` when there is no descriptor for a loop.
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

    /// A phone on a loop that others use as well. Phones that also share a context share a ``SoftphoneRuntime``.
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

    /// Goes online and stays so until ``disconnect()``: tries again whenever the connection cannot be had or is lost.
    ///
    /// While the phone waits to try again, this makes it try at once: call it when the network has come back.
    public func start() {
        onLoop { $0.take(.started(ticket: nil, limit: nil)) }
    }

    /// Goes online, and returns when the session is open. Afterwards the phone stays online like after ``start()``.
    /// - Throws: `gone` where trying again is pointless, `notConnected` after `connectLimit`: the phone is offline then.
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

    /// Goes offline: the server knows at once, and pushes from then on. Returns when it is done, after 2 s at most.
    public func disconnect() async {
        // Succeeds in every state; a phone whose loop has stopped is offline.
        _ = try? await result { .stopped(ticket: $0) }
    }

    /// Goes offline like ``disconnect()``, without waiting for it: `ConnectionChange.offline` tells when it is done.
    public func stop() {
        onLoop { $0.take(.stopped(ticket: nil)) }
    }

    /// Goes offline and has the server forget this device's push tokens: no call reaches it any more.
    public func logout() async throws(SoftphoneError) {
        _ = try await submit(.logout)
    }

    /// Drops the socket without a word and forgets everything, as if the app had been killed. No event follows.
    public func abandon() {
        onLoop { $0.take(.abandoned) }
    }

    /// Drops the socket as a failing network would; the phone comes back and resumes.
    public func cutConnection() {
        onLoop { $0.take(.cut) }
    }

    // MARK: Events and calls

    /// The events from now on. Each call makes a stream of its own.
    /// - Parameter limit: how many events wait for a slow reader. Beyond that the oldest are dropped: ``calls()`` has
    ///   the truth then.
    public func events(buffering limit: Int = 1024) -> AsyncStream<SoftphoneEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SoftphoneEvent.self, bufferingPolicy: .bufferingNewest(limit))
        let id = streams.wrappingAdd(1, ordering: .relaxed).newValue
        let driver = self.driver
        continuation.onTermination = { _ in driver.loop.execute { driver.value.removeSink(id: id) } }
        let isRunning = onLoop { driver in
            driver.addSink(id: id, yield: { continuation.yield($0) }, finish: { continuation.finish() })
        }
        if !isRunning { continuation.finish() }
        return stream
    }

    /// The live calls, oldest first.
    public func calls() async -> [PhoneCall] {
        let driver = self.driver
        return await driver.loop.run { driver.value.session.liveCalls } ?? []
    }

    /// How long ago this machine got the last bytes from the server, to some milliseconds: by how much an app that is
    /// busy is late. nil when that is not known. On the loop's thread only.
    package var lastReceivedAge: Duration? { driver.value.lastReceivedAge }

    /// Hands over what a push said, from the app's push handler: the call is announced at once
    /// (`SoftphoneEvent.incoming`), and the phone goes online if it is not.
    public func received(_ push: CallPush) {
        onLoop { $0.take(.pushReceived(push)) }
    }

    // MARK: Commands

    /// Gives a command; `completion` is called once, on the loop's thread. The cheapest way for many phones.
    ///
    /// From the loop's own thread it takes effect before this returns.
    public func submit(
        _ command: ClientRequest, completion: @escaping @Sendable (Result<Reply, SoftphoneError>) -> Void
    ) {
        let isRunning = onLoop { driver in
            driver.take(completion) { .commanded(command, ticket: $0) }
        }
        if !isRunning { completion(.failure(.closed)) }
    }

    /// Gives a command and waits for its outcome.
    @discardableResult
    public func submit(_ command: ClientRequest) async throws(SoftphoneError) -> Reply {
        try await result { .commanded(command, ticket: $0) }
    }

    /// Tells the other side of ICE candidates. Kept while there is no connection.
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
