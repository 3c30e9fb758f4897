import CallVocabulary
import EventLoop
import HTTP2
import Logging

/// One connection to the simulator, of a provider or of a phone. Confined to the simulator's loop.
///
/// A provider begins with few streams and gets many with its first valid token; a phone gets them with its first
/// request. Provider tokens are verified off the loop, once each: meanwhile their requests wait.
final class SimulatorConnection {
    /// How many verified tokens are remembered; an honest provider uses one or two.
    private static let mostVerified = 32

    let environment: PushEnvironment
    /// It holds this connection in turn, until the connection is closed.
    private let core: SimulatorCore
    private var http: HTTP2ServerConnection?
    private var authorization: ProviderAuthorization
    private var verified: [String: ProviderTokenFacts] = [:]
    private var waiting: [String: [(stream: StreamID, request: APNSRequest)]] = [:]
    /// The phones attached through this connection.
    private var attached: [StreamID: String] = [:]
    private var hasManyStreams = false
    /// Whether a push was sent through it.
    private(set) var isProvider = false

    init(core: SimulatorCore, environment: PushEnvironment) {
        self.core = core
        self.environment = environment
        authorization = ProviderAuthorization(environment: environment, keys: core.keys)
    }

    func start(descriptor: Int32, tls: TLSServerContext) {
        let settings = HTTP2ServerSettings(
            maxConcurrentStreams: core.configuration.streamsBeforeAuthorization, streamWindow: 65_535,
            connectionWindow: 65_535)
        http = HTTP2ServerConnection.adopt(
            loop: core.loop, descriptor: descriptor, tls: tls, settings: settings
        ) { [weak self] event in self?.handle(event) }
    }

    private func handle(_ event: HTTP2ServerConnection.Event) {
        switch event {
        case .request(let stream, let request):
            if request.path.hasPrefix(PhoneLinkMessages.prefix) {
                allowManyStreams()
                SimulatorRoutes(core: core, connection: self).handle(request, stream: stream)
            } else {
                receive(request, stream: stream)
            }
        case .streamClosed(let stream, _): streamClosed(stream)
        case .closed(let failure):
            if let failure { core.logger.debug("connection failed", metadata: ["error": "\(failure)"]) }
            http = nil
            waiting = [:]
            for (stream, token) in attached { core.linkLost(of: token, on: self, stream: stream) }
            attached = [:]
            core.connectionEnded(self)
        }
    }

    private func streamClosed(_ stream: StreamID) {
        if let token = attached.removeValue(forKey: stream) { core.linkLost(of: token, on: self, stream: stream) }
        guard !waiting.isEmpty else { return }
        // A request given up before it was judged never happened.
        for key in waiting.keys { waiting[key]?.removeAll { $0.stream == stream } }
    }

    // MARK: Phones

    /// Begins the stream of a phone's events.
    /// - Returns: false when the phone has given the stream up already.
    func startStream(_ stream: StreamID, of token: String) -> Bool {
        let fields = [HTTPField("content-type", "application/jsonl")]
        guard let http, http.startResponse(stream, status: 200, fields: fields) else { return false }
        attached[stream] = token
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

    func answer(_ stream: StreamID, status: Int, json: [UInt8]) {
        http?.respond(stream, status: status, fields: [HTTPField("content-type", "application/json")], body: json)
    }

    func close() {
        http?.close()
    }

    // MARK: Providers

    private func receive(_ request: HTTP2ServerRequest, stream: StreamID) {
        core.counts.received += 1
        isProvider = true
        var asked = APNSRequest(method: request.method, path: request.path, payload: request.body)
        for field in request.fields { asked.add(header: field.name, value: field.value) }
        guard let token = asked.providerToken.map(String.init) else {
            return judge(asked, stream: stream) { .missingProviderToken }
        }
        if let facts = verified[token] { return judge(asked, stream: stream, token: token, facts: facts) }
        if waiting[token] == nil { verify(token) }
        waiting[token, default: []].append((stream, asked))
    }

    private func verify(_ token: String) {
        let verifier = core.verifier
        let home = LoopBound(self, on: core.loop)
        Task {
            let facts = await verifier.facts(of: token)
            home.loop.execute { home.value.tokenVerified(token, facts: facts) }
        }
    }

    private func tokenVerified(_ token: String, facts: ProviderTokenFacts) {
        guard http != nil, let requests = waiting.removeValue(forKey: token) else { return }
        if verified.count == Self.mostVerified { verified = [:] }
        verified[token] = facts
        for (stream, request) in requests { judge(request, stream: stream, token: token, facts: facts) }
    }

    private func judge(_ request: APNSRequest, stream: StreamID, token: String, facts: ProviderTokenFacts) {
        judge(request, stream: stream) { authorization.judge(token, facts: facts, now: WallClock.now()) }
        if authorization.isAuthorized { allowManyStreams() }
    }

    private func judge(_ request: APNSRequest, stream: StreamID, authorize: () -> APNSReason?) {
        let verdict = APNSRequestCheck.judge(
            request, freshID: { PushID.random().description },
            standing: { core.standing(of: $0, topic: request.topic ?? "", environment: environment) },
            authorize: authorize)
        switch verdict {
        case .refused(let response): answer(stream, response)
        case .accepted(let push):
            guard let fault = core.takeFault(for: push) else { return accept(push, stream: stream) }
            suffer(fault, push: push, stream: stream)
        }
    }

    private func accept(_ push: AcceptedPush, stream: StreamID, delay: Duration? = nil) {
        answer(stream, .accepted(id: push.id))
        core.send(push, delay: delay)
    }

    private func suffer(_ fault: PushFault.Effect, push: AcceptedPush, stream: StreamID) {
        switch fault {
        case .refuse(let reason, let status, let timestamp):
            let time = reason.status == 410 ? timestamp ?? WallClock.now() : timestamp
            var response = APNSResponse.refused(reason, id: push.id, timestamp: time)
            response.status = status ?? reason.status
            answer(stream, response)
        case .lose:
            answer(stream, .accepted(id: push.id))
            core.counts.dropped["fault", default: 0] += 1
        case .deliverLate(let delay): accept(push, stream: stream, delay: delay)
        case .neverAnswer: core.counts.unanswered += 1
        case .goAway(let reason):
            accept(push, stream: stream)
            core.counts.goAways += 1
            goAway(reason: reason)
        }
    }

    /// Announces the end: streams that came so far are answered.
    func goAway(reason: APNSReason?) {
        let debug = reason.map { Array("{\"reason\":\"\($0.rawValue)\"}".utf8) } ?? []
        http?.goAway(lastStream: nil, .noError, debug: debug)
    }

    private func answer(_ stream: StreamID, _ response: APNSResponse) {
        if let reason = response.reason {
            core.counts.rejected[reason.rawValue, default: 0] += 1
            core.logger.debug("push refused", metadata: ["apns_id": "\(response.id)", "reason": "\(reason.rawValue)"])
        } else {
            core.counts.accepted += 1
        }
        var fields = [HTTPField("apns-id", response.id, isSensitive: true)]
        if environment == .sandbox {
            // The development environment names each push for Apple's Push Notifications Console.
            fields.append(HTTPField("apns-unique-id", PushID.random().description, isSensitive: true))
        }
        http?.respond(stream, status: response.status, fields: fields, body: response.body)
    }

    private func allowManyStreams() {
        guard !hasManyStreams else { return }
        hasManyStreams = true
        http?.updateSettings(maxConcurrentStreams: core.configuration.streamsAfterAuthorization)
    }
}

@available(*, unavailable)
extension SimulatorConnection: Sendable {}
