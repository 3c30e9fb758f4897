import CallVocabulary
import Dispatch
import Foundation
import SoftphoneSession

/// A phone for a Reveille server: registers, places and answers calls, and reconnects by itself.
///
/// `SoftphoneSession` decides; this runs it on a serial queue of its own, with a ``WebSocketTransport``. Any thread may
/// use it. A released phone drops its connection; call ``disconnect()`` first to go offline in order.
public final class Softphone: Sendable {
    /// The source of the token for `session.open`.
    public enum TokenSource: Redacted, Sendable {
        case fixed(String)
        /// Called before each attempt to connect. It may throw: before the first unlock the keychain is closed, and the
        /// phone uses the wake token of the push.
        case provider(@Sendable () async throws -> String)
    }

    public struct Configuration: Sendable {
        /// `wss://host` or `ws://host:port`, with a path if it is not `/v1/signal`.
        public var url: String
        public var token: TokenSource
        /// The device, its push tokens, timeouts and automatic actions.
        public var session: ClientSession.Configuration
        public var transport: any WebSocketTransport = URLSessionTransport()
        /// The longest time that ``Softphone/connect()`` tries.
        public var connectLimit: Duration = .seconds(30)
        /// The seed for the spread of reconnects.
        public var seed = UInt64.random(in: .min ... .max)

        public init(url: String, token: TokenSource, device: DeviceDescription, push: [PushToken]? = nil) {
            self.url = url
            self.token = token
            session = ClientSession.Configuration(device: device, push: push)
        }
    }

    /// The WebSocket subprotocol.
    public static let subprotocol = "reveille.v1"
    /// The path of the server's WebSocket.
    public static let path = "/v1/signal"

    public let configuration: Configuration
    private let driver: QueueBound<PhoneDriver>

    /// - Throws: `badURL`.
    public init(configuration: Configuration) throws(SoftphoneError) {
        guard var url = URLComponents(string: configuration.url), ["ws", "wss"].contains(url.scheme),
            url.host?.isEmpty == false
        else { throw .badURL(configuration.url) }
        if ["", "/"].contains(url.path) { url.path = Self.path }
        guard let url = url.url else { throw .badURL(configuration.url) }
        self.configuration = configuration
        let queue = DispatchQueue(label: "reveille.softphone")
        driver = QueueBound(PhoneDriver(configuration: configuration, url: url, queue: queue), on: queue)
    }

    deinit { driver.run { $0.shutDown() } }

    // MARK: Online and offline

    /// Goes online and stays online until ``disconnect()``: retries when a connection fails or is lost. While the phone
    /// waits for a retry, this retries at once: call it when the network or the app is back.
    public func start() { take(.started(ticket: nil, limit: nil)) }

    /// Goes online, and returns when the session is open. Afterwards the phone stays online as after ``start()``.
    /// - Throws: `gone` for permanent failures, `notConnected` after `connectLimit`; the phone is offline then.
    @discardableResult
    public func connect() async throws(SoftphoneError) -> SessionOpened {
        let limit = configuration.connectLimit
        do throws(SoftphoneError) {
            guard case .opened(let opened) = try await result(of: { .started(ticket: $0, limit: limit) }) else {
                throw .unexpectedReply
            }
            return opened
        } catch {
            if case .notConnected = error { take(.stopped(ticket: nil)) }
            throw error
        }
    }

    /// Goes offline: the server is notified at once, and pushes from then on. Returns when done, after at most 2 s.
    public func disconnect() async {
        // Succeeds in every state.
        _ = try? await result { .stopped(ticket: $0) }
    }

    /// Goes offline and deletes this device's push tokens on the server: calls no longer reach it.
    public func logout() async throws(SoftphoneError) { _ = try await submit(.logout) }

    /// Drops the socket, as after a network failure; the phone reconnects and resumes. For tests.
    public func cutConnection() { take(.cut) }

    // MARK: Events and calls

    /// The events from now on, in order. Each call makes a new stream.
    /// - Parameter limit: the most events that wait for a slow reader. Beyond that the oldest are dropped, and
    ///   ``calls()`` has the present state.
    public func events(buffering limit: Int = 1024) -> AsyncStream<SoftphoneEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SoftphoneEvent.self, bufferingPolicy: .bufferingNewest(limit))
        let id = EventStreamID()
        continuation.onTermination = { [driver] _ in driver.run { $0.removeStream(id) } }
        driver.run { $0.addStream(id, yield: { continuation.yield($0) }, finish: { continuation.finish() }) }
        return stream
    }

    /// Calls `handler` with each event from now on, in order, on the phone's queue; it must return quickly.
    public func onEvent(_ handler: @escaping @Sendable (SoftphoneEvent) -> Void) {
        driver.run { $0.addStream(EventStreamID(), yield: handler, finish: {}) }
    }

    /// The live calls, oldest first.
    public func calls() async -> [PhoneCall] {
        await withCheckedContinuation { continuation in
            driver.run { continuation.resume(returning: $0.session.liveCalls) }
        }
    }

    /// Passes on a push. The call is announced at once (`SoftphoneEvent.incoming`), and the phone goes online.
    public func received(_ push: CallPush) { take(.pushReceived(push)) }

    // MARK: Commands

    /// Submits a command and waits for its result. The methods for each command are easier to use.
    @discardableResult
    public func submit(_ command: ClientRequest) async throws(SoftphoneError) -> Reply {
        try await result { .commanded(command, ticket: $0) }
    }

    /// Sends ICE candidates to the other side. They are queued while there is no connection.
    public func sendCandidates(_ candidates: CallCandidates) { take(.gathered(candidates)) }

    private func take(_ input: SessionInput) { driver.run { $0.take(input) } }

    private func result(
        of input: @escaping @Sendable (CommandTicket) -> SessionInput
    ) async throws(SoftphoneError) -> Reply {
        let result: Result<Reply, SoftphoneError> = await withCheckedContinuation { continuation in
            driver.run { $0.take({ continuation.resume(returning: $0) }, input) }
        }
        return try result.get()
    }
}
