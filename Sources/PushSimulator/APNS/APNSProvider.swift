import CallVocabulary
import EventLoop
import HTTP2
import Logging
import PushVocabulary

/// A provider on one connection to APNs. Confined to the simulator's loop.
///
/// The stream limit rises with the first valid provider token, or with the first push that the certificate permits.
/// Each token is verified once, off the loop; its requests wait meanwhile.
final class APNSProvider: ProviderSession {
    /// The most verified tokens kept; a correct provider uses one or two.
    private static let mostVerified = 32

    private let environment: PushEnvironment
    private let core: SimulatorCore
    /// The connection owns this object.
    private unowned let connection: SimulatorConnection
    private var authorization: ProviderAuthorization
    /// Read from the handshake at the first request; nil inside: no certificate.
    private var certificate: ProviderCertificate??
    private var verified: [String: ProviderTokenFacts] = [:]
    private var waiting: [String: [(stream: StreamID, request: APNSRequest)]] = [:]
    private var badTokens = 0

    init(environment: PushEnvironment, core: SimulatorCore, connection: SimulatorConnection) {
        self.environment = environment
        self.core = core
        self.connection = connection
        authorization = ProviderAuthorization(environment: environment, keys: core.keys)
    }

    func receive(_ request: HTTP2ServerRequest, stream: StreamID) {
        core.counts.received += 1
        var asked = APNSRequest(method: request.method, path: request.path, payload: request.body)
        for field in request.fields { asked.add(header: field.name, value: field.value) }
        // APNs ignores tokens when the client presents a certificate.
        if let certificate = shownCertificate() { return judge(asked, stream: stream, certificate: certificate) }
        guard let token = asked.providerToken.map(String.init) else {
            return judge(asked, stream: stream) { .missingProviderToken }
        }
        if let facts = verified[token] { return judge(asked, stream: stream, token: token, facts: facts) }
        if waiting[token] == nil { verify(token) }
        waiting[token, default: []].append((stream, asked))
    }

    private func shownCertificate() -> ProviderCertificate? {
        if let certificate { return certificate }
        let shown = connection.clientCertificate.map { ProviderCertificate($0) }
        certificate = .some(shown)
        return shown
    }

    func streamClosed(_ stream: StreamID) {
        guard !waiting.isEmpty else { return }
        // A request cancelled before its check is ignored.
        for key in waiting.keys { waiting[key]?.removeAll { $0.stream == stream } }
    }

    func connectionClosed() { waiting = [:] }

    private func verify(_ token: String) {
        let verifier = core.verifier
        let home = LoopBound(connection, on: core.loop)
        Task {
            let facts = await verifier.facts(of: token)
            home.loop.execute { (home.value.session as? APNSProvider)?.tokenVerified(token, facts: facts) }
        }
    }

    private func tokenVerified(_ token: String, facts: ProviderTokenFacts) {
        guard let requests = waiting.removeValue(forKey: token) else { return }
        if verified.count == Self.mostVerified { verified = [:] }
        verified[token] = facts
        for (stream, request) in requests where !connection.isDisowned(stream) {
            judge(request, stream: stream, token: token, facts: facts)
        }
    }

    // MARK: Judging

    private func judge(_ request: APNSRequest, stream: StreamID, certificate: ProviderCertificate) {
        var request = request
        // With a certificate for a single topic, the header is optional.
        if request.topic == nil, certificate.topics.count == 1 { request.topic = certificate.topics[0] }
        judge(request, stream: stream) {
            let refusal = certificate.refusal(topic: request.topic ?? "", environment: environment)
            if refusal == nil { connection.allowManyStreams() }
            return refusal
        }
    }

    private func judge(_ request: APNSRequest, stream: StreamID, token: String, facts: ProviderTokenFacts) {
        judge(request, stream: stream) {
            let refusal = authorization.judge(token, facts: facts, now: WallClock.now())
            if refusal != nil, core.configuration.limitsStreamsAfterRejection { connection.allowFewStreams() }
            if refusal == nil { connection.allowManyStreams() }
            return refusal
        }
    }

    private func judge(_ request: APNSRequest, stream: StreamID, authorize: () -> APNSReason?) {
        let verdict = APNSRequestCheck.judge(
            request, freshID: { core.freshID() },
            standing: { core.standing(of: $0, topic: request.topic ?? "", environment: environment) },
            authorize: authorize)
        switch verdict {
        case .refused(let response): refuse(stream, response)
        case .accepted(let push):
            let accepted = SimulatorConnection.Acceptance(
                reply: reply(.accepted(id: push.id)), fields: fields(id: push.id)
            ) { [core] delay in core.send(push, delay: delay) }
            let fault = core.takeFault(.apns, deviceToken: push.deviceToken)
            core.configuration.onPush?(SeenPush(push: push, at: WallClock.now(), fault: fault?.effect))
            connection.conclude(stream, accepted, fault: fault)
        }
    }

    private func refuse(_ stream: StreamID, _ response: APNSResponse) {
        // Every refusal has a reason.
        let reason = response.reason?.rawValue ?? ""
        core.logger.debug(
            "push refused", metadata: ["apns_id": .string("\(response.id)"), "reason": .string(reason)])
        connection.refuse(stream, reply(response), reason: reason)
        guard response.reason == .badDeviceToken else { return }
        badTokens += 1
        if badTokens == core.configuration.closesAfterBadTokens { connection.close() }
    }

    private func reply(_ response: APNSResponse) -> SimulatorReply {
        SimulatorReply(status: response.status, fields: fields(id: response.id), body: response.body)
    }

    private func fields(id: String) -> [HTTPField] {
        var fields = [HTTPField("apns-id", id, isSensitive: true)]
        if environment == .sandbox {
            // The development environment assigns each push an id for Apple's Push Notifications Console.
            fields.append(HTTPField("apns-unique-id", core.freshID(), isSensitive: true))
        }
        return fields
    }
}

@available(*, unavailable)
extension APNSProvider: Sendable {}
