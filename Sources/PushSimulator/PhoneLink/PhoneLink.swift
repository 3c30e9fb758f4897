import CallVocabulary
import EventLoop
import HTTP2
import TLS

/// A phone's connection to a ``PushSimulator``: the interface of the phone's system to its app, over HTTP/2.
///
/// | member | on an iPhone | in a browser |
/// |---|---|---|
/// | `register` | PushKit provides a device token | `PushManager.subscribe()` |
/// | `attach` | the phone connects to APNs | the browser connects to its push service |
/// | ``Event/push(_:)`` | the call of the PushKit delegate | the `push` event of the service worker |
/// | `report` | the app reports the call to CallKit | `showNotification()` |
/// | ``Event/killed(unreported:isVoIPBlocked:)`` | iOS kills the app | never |
///
/// A restarted phone attaches with its token, through any link.
///
/// A link carries up to ``mostPhones`` phones. Created and used on its loop's thread. Callbacks run there too, never
/// from within a method. Retains itself until it is lost or closed.
public final class PhoneLink {
    /// The most phones attached through one link.
    public static let mostPhones = 900
    /// The most requests that wait for the connection.
    private static let mostWaiting = 4096

    /// An action of the user, or a change of the network.
    public enum PhoneState: String, Sendable, CaseIterable {
        /// The app is in the foreground: VoIP pushes need no report. Unblocks VoIP pushes.
        case foreground
        case background
        /// The user swiped the app away.
        case killed
        /// APNs cannot reach the attached phone; pushes are stored.
        case offline
        case online
        /// The app has a call: further VoIP pushes need no report.
        case inCall = "in_call"
        case callOver = "call_over"
        /// An Android phone in doze mode: messages of normal priority wait.
        case dozing
        case awake
    }

    /// A push as delivered to the phone.
    public struct Push: Sendable {
        /// `apns-id`, `apns-topic`, `apns-push-type`, `apns-priority`, and the optional `apns-expiration` and
        /// `apns-collapse-id`. For FCM: `fcm-message-id`, `fcm-from`, `fcm-priority` (after demotion),
        /// `fcm-original-priority`, `fcm-ttl` in seconds, `fcm-collapse-key`. For a browser: `webpush-id`,
        /// `webpush-urgency`, `webpush-ttl` in seconds, `webpush-topic`.
        public let headers: [String: String]
        /// The payload as sent, but without line breaks between JSON tokens. For FCM: `data` and `notification` in one
        /// JSON object. For a browser: the decrypted content, as a JSON string if it is no JSON object.
        public let payload: [UInt8]
        /// Whether iOS kills the app unless it reports the push within ``SimulatedIPhone/reportWindow``. For a browser:
        /// whether it counts the push as silent without a report within ``SimulatedBrowser/showWindow``.
        public let mustReport: Bool
        /// When the simulator sent the push to the phone, by the simulator's clock: microseconds since the epoch. For
        /// an attached phone without a fault, the provider gets its 200 at the same time.
        public let deliveredMicroseconds: Int64

        /// The `apns-id`, FCM's message id, or that of a push to a browser, for the report.
        public var id: String { headers["apns-id"] ?? headers["fcm-message-id"] ?? headers["webpush-id"] ?? "" }
        public var provider: PushProvider {
            if headers["webpush-id"] != nil { return .webpush }
            return headers["fcm-message-id"] == nil ? .apns : .fcm
        }
        public var isVoIP: Bool { headers["apns-push-type"] == APNSPushType.voip.rawValue }
    }

    public enum Event: Sendable {
        /// The phone is reachable. Stored pushes follow.
        case attached
        case push(Push)
        /// iOS killed the app for unreported pushes: close its sockets. The phone stays attached. The next push
        /// launches the app again, unless VoIP pushes are blocked.
        case killed(unreported: [String], isVoIPBlocked: Bool)
        /// The last event: another link attached the token (`replaced`), the app was removed (`unregistered`), the
        /// simulator refused, or the link was lost.
        case detached(reason: String)
    }

    public enum Failure: Error, CustomStringConvertible, Sendable {
        /// The simulator answered with this status and text.
        case refused(status: Int, text: String)
        /// The connection ended before the response; nil for an orderly end.
        case lost(HTTP2Failure?)

        public var description: String {
            switch self {
            case .refused(let status, let text): "the push simulator refused (\(status)): \(text)"
            case .lost(let failure): "the link to the push simulator is lost: \(failure?.description ?? "closed")"
            }
        }
    }

    private enum Purpose {
        case answer((Result<[UInt8], Failure>) -> Void)
        case attachment(token: String, onEvent: (Event) -> Void)
    }

    /// A pending request and the response received so far.
    private final class Exchange {
        let request: HTTP2Request
        let purpose: Purpose
        var status = 0
        var bytes: [UInt8] = []
        /// The reason the simulator gave when it ended the attachment.
        var lastWords: String?

        init(request: HTTP2Request, purpose: Purpose) {
            self.request = request
            self.purpose = purpose
        }
    }

    private let authority: String
    private var http: HTTP2ClientConnection?
    private var isOpen = false
    private var waiting: [Exchange] = []
    private var exchanges: [StreamID: Exchange] = [:]
    private var attachments: [String: Exchange] = [:]
    private var onLost: ((Failure) -> Void)?

    /// Starts to connect. Earlier requests wait for the connection.
    /// - Parameters:
    ///   - serverName: `localhost`, or the simulator's numeric address.
    ///   - tls: trusts the simulator's `ca.pem`. Shared among links.
    ///   - onLost: called once, after the phones' `detached`, unless ``close()`` was called.
    public init(
        loop: EventLoop, to address: SocketAddress, serverName: String = "localhost", tls: TLSClientContext,
        onLost: @escaping (Failure) -> Void
    ) {
        authority = "\(serverName):\(address.port)"
        self.onLost = onLost
        http = HTTP2ClientConnection.connect(loop: loop, to: address, serverName: serverName, tls: tls) { event in
            self.handle(event)
        }
    }

    /// Requests a device token for an app on a new phone, as from PushKit.
    /// - Parameters:
    ///   - topic: `<bundle>.voip` for VoIP pushes, `<bundle>` for others; the Firebase project for `.fcm`; for `.webpush`
    ///     the `applicationServerKey`, an uncompressed point of P-256 in base64url.
    ///   - name: shown in the simulator's state.
    /// - Returns: false, and `completion` is not called, when the link is lost or has too many waiting requests.
    @discardableResult
    public func register(
        topic: String, environment: PushEnvironment, name: String, provider: PushProvider = .apns,
        completion: @escaping (Result<String, Failure>) -> Void
    ) -> Bool {
        let body = PhoneLinkMessages.Registration(
            topic: topic, environment: environment.rawValue, name: name, provider: provider.rawValue)
        return post("phones", PhoneLinkMessages.encode(body)) { answer in
            completion(
                answer.flatMap { body in
                    PhoneLinkMessages.decode(PhoneLinkMessages.Registered.self, from: body).map { .success($0.token) }
                        ?? .failure(.refused(status: 201, text: "the response has no token"))
                })
        }
    }

    /// Makes the phone of `token` reachable through this link. Its previous link gets `detached("replaced")`.
    /// - Returns: false, and `onEvent` is not called, when the link is lost or full, or has this phone already.
    @discardableResult
    public func attach(_ token: String, onEvent: @escaping (Event) -> Void) -> Bool {
        guard attachments.count < Self.mostPhones, attachments[token] == nil else { return false }
        let request = HTTP2Request(
            method: "GET", authority: authority, path: path("phones/\(SimulatedPhone.key(of: token))"),
            isPathSensitive: true)
        let exchange = Exchange(request: request, purpose: .attachment(token: token, onEvent: onEvent))
        guard submit(exchange) else { return false }
        attachments[token] = exchange
        return true
    }

    /// Makes the phone unreachable, as without network or switched off. It gets no more events.
    public func detach(_ token: String) {
        guard let exchange = attachments.removeValue(forKey: token) else { return }
        waiting.removeAll { $0 === exchange }
        guard let stream = exchanges.first(where: { $0.value === exchange })?.key else { return }
        exchanges[stream] = nil
        http?.reset(stream, .cancel)
    }

    /// Reports to iOS that the app reported the push's call to CallKit, or to Android that the app showed a
    /// notification.
    /// - Parameters:
    ///   - alert: the notification that a service worker showed.
    ///   - completion: gets whether the system awaited the report.
    /// - Returns: false, and `completion` is not called, when the link is lost or has too many waiting requests.
    @discardableResult
    public func report(
        pushID: String, by token: String, alert: ShownAlert? = nil,
        completion: @escaping (Result<SimulatedIPhone.ReportVerdict, Failure>) -> Void = { _ in }
    ) -> Bool {
        let body = PhoneLinkMessages.Report(
            pushID: pushID, title: alert?.title, body: alert?.body, tag: alert?.collapseID)
        return post("phones/\(SimulatedPhone.key(of: token))/reported", PhoneLinkMessages.encode(body)) { answer in
            completion(
                answer.flatMap { body in
                    PhoneLinkMessages.decode(PhoneLinkMessages.Verdict.self, from: body)
                        .flatMap { SimulatedIPhone.ReportVerdict(rawValue: $0.verdict) }.map { .success($0) }
                        ?? .failure(.refused(status: 200, text: "the response has no verdict"))
                })
        }
    }

    /// Simulates an action of the user, or a change of the network.
    /// - Returns: false, and `completion` is not called, when the link is lost or has too many waiting requests.
    @discardableResult
    public func move(
        _ token: String, to state: PhoneState, completion: @escaping (Result<Void, Failure>) -> Void = { _ in }
    ) -> Bool {
        let body = PhoneLinkMessages.encode(PhoneLinkMessages.StateChange(state: state.rawValue))
        return post("phones/\(SimulatedPhone.key(of: token))/state", body) { answer in completion(answer.map { _ in }) }
    }

    /// Injects a fault, like `PushSimulatorAdmin`.
    /// - Returns: false, and `completion` is not called, when the link is lost or has too many waiting requests.
    @discardableResult
    public func inject(
        _ order: PushFaultOrder, completion: @escaping (Result<Void, Failure>) -> Void = { _ in }
    ) -> Bool {
        post("faults", PhoneLinkMessages.encode(order)) { answer in completion(answer.map { _ in }) }
    }

    /// Closes the link without further callbacks. Its phones become unreachable.
    public func close() {
        onLost = nil
        attachments = [:]
        exchanges = [:]
        waiting = []
        http?.close()
        http = nil
    }

    // MARK: Requests

    private func path(_ rest: String) -> String { PhoneLinkMessages.prefix + rest }

    private func post(
        _ rest: String, _ body: [UInt8], completion: @escaping (Result<[UInt8], Failure>) -> Void
    ) -> Bool {
        ask("POST", rest, body, completion: completion)
    }

    /// Sends any request of the simulator's API.
    /// - Returns: false, and `completion` is not called, when the link is lost or has too many waiting requests.
    func ask(
        _ method: String, _ rest: String, _ body: [UInt8], completion: @escaping (Result<[UInt8], Failure>) -> Void
    ) -> Bool {
        let request = HTTP2Request(
            method: method, authority: authority, path: path(rest), isPathSensitive: true,
            fields: [HTTPField("content-type", "application/json")], body: body)
        return submit(Exchange(request: request, purpose: .answer(completion)))
    }

    private func submit(_ exchange: Exchange) -> Bool {
        guard http != nil, waiting.count < Self.mostWaiting else { return false }
        waiting.append(exchange)
        submitWaiting()
        return true
    }

    private func submitWaiting() {
        guard isOpen, let http else { return }
        var submitted = 0
        for exchange in waiting {
            guard let stream = http.submit(exchange.request) else { break }
            exchanges[stream] = exchange
            submitted += 1
        }
        waiting.removeFirst(submitted)
    }

    // MARK: Events

    private func handle(_ event: HTTP2ClientConnection.Event) {
        // The connection may report events after `close()`.
        guard http != nil else { return }
        switch event {
        case .opened:
            isOpen = true
            submitWaiting()
        case .settings: submitWaiting()
        case .headers(let stream, let status, _): exchanges[stream]?.status = status
        case .data(let stream, let bytes): received(bytes, on: stream)
        case .streamClosed(let stream, let code):
            if let exchange = exchanges.removeValue(forKey: stream) { ended(exchange, code: code) }
            submitWaiting()
        case .goAway, .pingAnswered: break
        case .closed(let failure): lost(.lost(failure))
        }
    }

    private func received(_ bytes: UnsafeRawBufferPointer, on stream: StreamID) {
        guard let exchange = exchanges[stream] else { return }
        exchange.bytes += bytes
        guard case .attachment(let token, let onEvent) = exchange.purpose, exchange.status == 200 else { return }
        while let end = exchange.bytes.firstIndex(of: UInt8(ascii: "\n")) {
            let line = PhoneLinkMessages.parse(line: exchange.bytes[..<end])
            exchange.bytes.removeSubrange(...end)
            // The owner may detach in a callback.
            guard attachments[token] === exchange else { return }
            guard let (line, payload) = line else { continue }
            exchange.lastWords = line.detached ?? exchange.lastWords
            deliver(line, payload: payload, to: onEvent)
        }
    }

    private func deliver(_ line: PhoneLinkMessages.Line, payload: [UInt8], to onEvent: (Event) -> Void) {
        if line.attached != nil { onEvent(.attached) }
        if let headers = line.headers {
            onEvent(
                .push(
                    Push(
                        headers: headers, payload: payload, mustReport: line.mustReport ?? false,
                        deliveredMicroseconds: line.deliveredAt ?? WallClock.microseconds)))
        }
        if line.killed != nil {
            onEvent(.killed(unreported: line.unreported ?? [], isVoIPBlocked: line.voipBlocked ?? false))
        }
    }

    private func ended(_ exchange: Exchange, code: HTTP2ErrorCode) {
        switch exchange.purpose {
        case .answer(let completion):
            if code == .noError, (200...299).contains(exchange.status) {
                completion(.success(exchange.bytes))
            } else {
                completion(.failure(refusal(exchange, code: code)))
            }
        case .attachment(let token, let onEvent):
            guard attachments[token] === exchange else { return }
            attachments[token] = nil
            if exchange.status == 200 {
                onEvent(.detached(reason: exchange.lastWords ?? "stream ended: \(code)"))
            } else {
                onEvent(.detached(reason: refusal(exchange, code: code).description))
            }
        }
    }

    private func refusal(_ exchange: Exchange, code: HTTP2ErrorCode) -> Failure {
        let said = PhoneLinkMessages.decode(PhoneLinkMessages.Failure.self, from: exchange.bytes)?.error
        let text = exchange.bytes.isEmpty ? code.description : String(decoding: exchange.bytes, as: UTF8.self)
        return .refused(status: exchange.status, text: said ?? text)
    }

    private func lost(_ failure: Failure) {
        http = nil
        let unanswered = waiting + exchanges.sorted { $0.key < $1.key }.map(\.value)
        let onLost = onLost
        waiting = []
        exchanges = [:]
        attachments = [:]
        self.onLost = nil
        for exchange in unanswered {
            switch exchange.purpose {
            case .answer(let completion): completion(.failure(failure))
            case .attachment(_, let onEvent): onEvent(.detached(reason: failure.description))
            }
        }
        onLost?(failure)
    }
}

@available(*, unavailable)
extension PhoneLink: Sendable {}
