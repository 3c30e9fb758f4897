import CallVocabulary
import EventLoop
import HTTP2
import Logging
import PushVocabulary
import TLS

/// The service's part of one connection.
protocol ProviderSession: AnyObject {
    func receive(_ request: HTTP2ServerRequest, stream: StreamID)
    func streamClosed(_ stream: StreamID)
    func connectionClosed()
}

struct SimulatorReply {
    var status: Int
    var fields: [HTTPField] = []
    var body: [UInt8] = []

    static func json(_ status: Int, _ body: [UInt8], _ fields: [HTTPField] = []) -> Self {
        Self(status: status, fields: [HTTPField("content-type", "application/json")] + fields, body: body)
    }
}

/// One connection to the simulator, of a provider or of a phone. Confined to the simulator's loop.
final class SimulatorConnection {
    /// The response and delivery of a request that passed all checks.
    struct Acceptance {
        let reply: SimulatorReply
        /// The headers shared by any other response to the request.
        let fields: [HTTPField]
        /// Delivers the push, after a delay.
        let deliver: (Duration?) -> Void
    }

    let port: SimulatorPort
    /// The core retains this connection until it is closed.
    let core: SimulatorCore
    private(set) var http: HTTP2ServerConnection?
    // Force-unwrap: set at the end of init, never nil afterwards.
    private(set) var session: (any ProviderSession)!
    /// The keys of the phones attached through this connection.
    private var attached: [StreamID: String] = [:]
    /// Deliveries that wait until the response is sent: until then a GOAWAY may exclude the push.
    private var undelivered: [StreamID: () -> Void] = [:]
    /// The last stream id of a GOAWAY; nil before one. Higher streams count as unprocessed.
    private var lastStream: StreamID?
    private var hasManyStreams = false
    /// Whether a push arrived on it.
    private(set) var isProvider = false

    init(core: SimulatorCore, port: SimulatorPort) {
        self.core = core
        self.port = port
        switch port {
        case .apns(let environment):
            session = APNSProvider(environment: environment, core: core, connection: self)
        case .fcm: session = FCMCaller(core: core, connection: self)
        case .webpush: session = WebPushSession(core: core, connection: self)
        }
    }

    func start(descriptor: Int32, tls: TLSServerContext) {
        let settings = HTTP2ServerSettings(
            maxConcurrentStreams: fewStreams, streamWindow: 65_535, connectionWindow: 65_535,
            roundTrip: core.configuration.roundTrip)
        http = HTTP2ServerConnection.adopt(
            loop: core.loop, descriptor: descriptor, tls: tls, settings: settings
        ) { [weak self] event in self?.handle(event) }
    }

    private var fewStreams: Int {
        switch port {
        case .apns: core.configuration.streamsBeforeAuthorization
        case .fcm: core.configuration.fcmStreams
        case .webpush: core.configuration.webPushStreams
        }
    }

    private func handle(_ event: HTTP2ServerConnection.Event) {
        switch event {
        // Arrived together with the request that caused the GOAWAY.
        case .request(let stream, _) where isDisowned(stream): break
        case .request(let stream, let request):
            if request.path.hasPrefix(PhoneLinkMessages.prefix) {
                allowManyStreams()
                SimulatorRoutes(core: core, connection: self).handle(request, stream: stream)
            } else {
                isProvider = true
                session.receive(request, stream: stream)
            }
        case .streamClosed(let stream, let code):
            if let phone = attached.removeValue(forKey: stream) { core.linkLost(of: phone, on: self, stream: stream) }
            session.streamClosed(stream)
            answerEnded(stream, code)
        case .closed(let failure):
            if let failure { core.logger.debug("connection failed", metadata: ["error": .string("\(failure)")]) }
            http = nil
            session.connectionClosed()
            for (stream, phone) in attached { core.linkLost(of: phone, on: self, stream: stream) }
            attached = [:]
            for stream in undelivered.keys.sorted() { answerEnded(stream, .cancel) }
            core.connectionEnded(self)
        }
    }

    /// The client's certificate from the handshake.
    var clientCertificate: TLSPeerCertificate? { http?.clientCertificate }

    // MARK: Phones

    /// Begins a phone's event stream.
    /// - Returns: false when the phone has already cancelled the stream.
    func startStream(_ stream: StreamID, of phone: String) -> Bool {
        let fields = [HTTPField("content-type", "application/jsonl")]
        guard let http, http.startResponse(stream, status: 200, fields: fields) else { return false }
        attached[stream] = phone
        return true
    }

    @discardableResult
    func send(_ line: [UInt8], on stream: StreamID) -> Bool {
        http?.send(stream, line + [UInt8(ascii: "\n")]) ?? false
    }

    func finish(_ stream: StreamID) {
        attached[stream] = nil
        http?.finish(stream)
    }

    func close() {
        http?.close()
    }

    // MARK: Answers

    func answer(_ stream: StreamID, _ reply: SimulatorReply) {
        http?.respond(stream, status: reply.status, fields: reply.fields, body: reply.body)
    }

    func refuse(_ stream: StreamID, _ reply: SimulatorReply, reason: String) {
        core.counts.rejected[reason, default: 0] += 1
        answer(stream, reply)
    }

    /// Answers a request that passed all checks, or applies the fault.
    func conclude(_ stream: StreamID, _ accepted: Acceptance, fault: PushFault?) {
        if let fault { return carryOut(fault, on: stream, accepted) }
        accept(stream, accepted)
    }

    func accept(_ stream: StreamID, _ accepted: Acceptance, delay: Duration? = nil) {
        answer(stream, accepted.reply)
        take(stream, accepted, delay: delay)
    }

    /// Counts a push as accepted, and delivers it once the response is sent.
    func take(_ stream: StreamID, _ accepted: Acceptance, delay: Duration? = nil) {
        core.counts.accepted += 1
        undelivered[stream] = { accepted.deliver(delay) }
    }

    // MARK: Disowned streams

    /// Whether the stream is above the last stream id of a GOAWAY.
    func isDisowned(_ stream: StreamID) -> Bool { lastStream.map { stream > $0 } ?? false }

    /// The response was sent, or the stream ended without it. On a stream above a GOAWAY's last stream id, a push
    /// counts only if its response was sent before the GOAWAY; otherwise the client retries it.
    private func answerEnded(_ stream: StreamID, _ code: HTTP2ErrorCode) {
        guard let deliver = undelivered.removeValue(forKey: stream) else { return }
        if !isDisowned(stream) || code == .noError { return deliver() }
        core.counts.accepted -= 1
        core.counts.unanswered += 1
    }

    // MARK: Streams

    func allowManyStreams() {
        guard !hasManyStreams else { return }
        hasManyStreams = true
        http?.updateSettings(maxConcurrentStreams: core.configuration.streamsAfterAuthorization)
    }

    func allowFewStreams() {
        guard hasManyStreams else { return }
        hasManyStreams = false
        http?.updateSettings(maxConcurrentStreams: fewStreams)
    }

    /// Sends GOAWAY. Earlier streams are answered, unless `goAway` has another last stream id.
    func retire(_ goAway: PushFault.GoAway, at stream: StreamID? = nil) {
        core.counts.goAways += 1
        let last: StreamID? =
            switch goAway.lastStream {
            case .current: nil
            case .zero: StreamID(rawValue: 0)
            // Client streams have odd ids.
            case .before: stream.map { StreamID(rawValue: max(0, $0.rawValue - 2)) } ?? StreamID(rawValue: 0)
            }
        if let last { lastStream = min(lastStream ?? last, last) }
        let text =
            switch goAway.text {
            case .json(let reason): "{\"reason\":\"\(reason.rawValue)\"}"
            case .plain(let reason): reason.rawValue
            case .none: ""
            }
        for _ in 0..<(goAway.isDoubled ? 2 : 1) { http?.goAway(lastStream: last, .noError, debug: Array(text.utf8)) }
    }
}

@available(*, unavailable)
extension SimulatorConnection: Sendable {}
