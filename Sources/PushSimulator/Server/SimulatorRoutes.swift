import CallVocabulary
import HTTP2

/// The simulator's own HTTP API, for the phones' link and admin calls: JSON under `/simulator/v1/` at each port.
///
/// ```
/// POST   phones                    {topic, provider?, environment?, name?}   201 {token}
/// GET    phones/{token}                                              200, a stream of JSON lines while attached
/// DELETE phones/{token}                                              the app is removed: its pushes are refused
/// POST   phones/{token}/reported   {push_id | uuid, title?, body?, tag?}  200 {verdict: accepted | not_awaited}
/// POST   phones/{token}/state      {state}                           PhoneLink.PhoneState
/// GET    phones/{token}/subscription                                 200 the keys and the newest pushes of a browser
/// POST   faults                    PushFaultOrder
/// GET    faults                                                      200 {faults: [PushFaultOrder]}
/// DELETE faults
/// POST   goaway                    {provider?, environment?, reason?, text?, doubled?, last_stream?}
/// DELETE access-tokens                                               FCM refuses all that it gave out
/// GET    state                                                       200 PushSimulatorSnapshot
/// ```
/// In a path, the token of a browser is the last part of its endpoint.
struct SimulatorRoutes {
    let core: SimulatorCore
    let connection: SimulatorConnection

    private static let longestName = 128

    private struct Problem: Error {
        let status: Int
        let text: String

        init(_ status: Int, _ text: String) {
            self.status = status
            self.text = text
        }
    }

    private enum Answer {
        case json(Int, [UInt8])
        case empty
        /// The stream stays open.
        case streaming
    }

    func handle(_ request: HTTP2ServerRequest, stream: StreamID) {
        do throws(Problem) {
            switch try answer(to: request, stream: stream) {
            case .json(let status, let body): connection.answer(stream, .json(status, body))
            case .empty: connection.answer(stream, .json(200, Array("{}".utf8)))
            case .streaming: break
            }
        } catch {
            let failure = PhoneLinkMessages.Failure(error: error.text)
            connection.answer(stream, .json(error.status, PhoneLinkMessages.encode(failure)))
        }
    }

    private func answer(to request: HTTP2ServerRequest, stream: StreamID) throws(Problem) -> Answer {
        let path = request.path.dropFirst(PhoneLinkMessages.prefix.count)
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        switch (request.method, parts.first ?? "", parts.count) {
        case ("POST", "phones", 1): return try register(request)
        case ("GET", "phones", 2): return try attach(parts[1], stream: stream)
        case ("DELETE", "phones", 2):
            core.unregister(try phone(parts[1]))
            return .empty
        case ("POST", "phones", 3) where parts[2] == "reported": return try report(request, token: parts[1])
        case ("POST", "phones", 3) where parts[2] == "state": return try move(request, token: parts[1])
        case ("GET", "phones", 3) where parts[2] == "subscription":
            guard let subscription = try phone(parts[1]).subscription else { throw Problem(404, "not a browser") }
            return .json(200, PhoneLinkMessages.encode(subscription.view))
        case ("GET", "faults", 1):
            let waiting = PhoneLinkMessages.Faults(faults: core.faults.faults.map { PushFaultOrder($0) })
            return .json(200, PhoneLinkMessages.encode(waiting))
        case ("DELETE", "access-tokens", 1):
            core.fcm.revokeAccessTokens()
            return .empty
        case ("POST", "faults", 1): return try injectFault(request)
        case ("DELETE", "faults", 1):
            core.clearFaults()
            return .empty
        case ("POST", "goaway", 1): return try goAway(request)
        case ("GET", "state", 1): return .json(200, PhoneLinkMessages.encode(core.snapshot))
        default: throw Problem(404, "no such call: \(request.method) \(request.path)")
        }
    }

    // MARK: Phones

    private func register(_ request: HTTP2ServerRequest) throws(Problem) -> Answer {
        let asked = try body(PhoneLinkMessages.Registration.self, of: request)
        guard !asked.topic.isEmpty else { throw Problem(400, "topic is empty") }
        let environment = try environment(asked.environment)
        let name = String((asked.name ?? "").prefix(Self.longestName))
        let provider = try provider(asked.provider)
        guard provider != .webpush || WebPushSubscription.publicKey(asked.topic[...]) != nil else {
            throw Problem(
                400, "topic: expected the applicationServerKey, \(WebPushSubscription.publicKeyForm)")
        }
        guard
            let phone = core.register(
                provider: provider, topic: asked.topic, environment: environment, name: name)
        else {
            throw Problem(503, "there are \(SimulatorCore.mostPhones) phones already")
        }
        return .json(201, PhoneLinkMessages.encode(PhoneLinkMessages.Registered(token: phone.token)))
    }

    private func attach(_ token: String, stream: StreamID) throws(Problem) -> Answer {
        let phone = try phone(token)
        guard phone.unregisteredSince == nil else { throw Problem(410, "the app was removed from this phone") }
        if connection.startStream(stream, of: phone.key) {
            core.attach(phone, link: SimulatedPhone.Link(connection: connection, stream: stream))
        }
        return .streaming
    }

    private func report(_ request: HTTP2ServerRequest, token: String) throws(Problem) -> Answer {
        let phone = try phone(token)
        let report = try body(PhoneLinkMessages.Report.self, of: request)
        guard report.pushID != nil || report.uuid != nil else { throw Problem(400, "push_id and uuid are missing") }
        guard let pushID = report.pushID ?? report.uuid.flatMap({ phone.pushID(call: $0) }) else {
            throw Problem(404, "no push announced that call to this phone")
        }
        let alert = ShownAlert(id: pushID, collapseID: report.tag, title: report.title, body: report.body)
        let verdict = core.report(pushID: pushID, by: phone, alert: alert)
        return .json(200, PhoneLinkMessages.encode(PhoneLinkMessages.Verdict(verdict: verdict.rawValue)))
    }

    private func move(_ request: HTTP2ServerRequest, token: String) throws(Problem) -> Answer {
        let phone = try phone(token)
        let text = try body(PhoneLinkMessages.StateChange.self, of: request).state
        guard let state = PhoneLink.PhoneState(rawValue: text) else { throw Problem(400, "no such state: \(text)") }
        switch state {
        case .foreground: core.advance(phone) { phone.appMoved(to: .foreground, now: $0) }
        case .background: core.advance(phone) { phone.appMoved(to: .background, now: $0) }
        case .killed: core.advance(phone) { phone.appMoved(to: .killed, now: $0) }
        case .inCall: phone.callsChanged(isInCall: true)
        case .callOver: phone.callsChanged(isInCall: false)
        case .dozing: core.advance(phone) { phone.dozed(true, now: $0) }
        case .awake: core.advance(phone) { phone.dozed(false, now: $0) }
        case .offline: phone.detached()
        case .online: core.reach(phone)
        }
        return .empty
    }

    // MARK: Admin

    private func injectFault(_ request: HTTP2ServerRequest) throws(Problem) -> Answer {
        let asked = try body(PushFaultOrder.self, of: request)
        let fault: PushFault
        do throws(PushFaultOrder.Nonsense) { fault = try asked.makeFault() } catch {
            throw Problem(400, error.description)
        }
        guard core.inject(fault) else { throw Problem(503, "\(SimulatorCore.mostFaults) faults are pending already") }
        return .empty
    }

    private func goAway(_ request: HTTP2ServerRequest) throws(Problem) -> Answer {
        let asked = try body(PhoneLinkMessages.GoAway.self, of: request)
        var order = PushFaultOrder(.goAway)
        (order.reason, order.text) = (asked.reason, asked.text)
        (order.doubled, order.lastStream) = (asked.doubled, asked.lastStream)
        let goAway: PushFault.GoAway
        do throws(PushFaultOrder.Nonsense) { goAway = try order.goAway() } catch {
            throw Problem(400, error.description)
        }
        core.retireProviders(try port(asked), goAway)
        return .empty
    }

    private func port(_ asked: PhoneLinkMessages.GoAway) throws(Problem) -> SimulatorPort {
        guard let named = asked.provider else {
            guard case .apns = connection.port, asked.environment != nil else { return connection.port }
            return .apns(try environment(asked.environment))
        }
        switch try provider(named) {
        case .apns: return .apns(try environment(asked.environment))
        case .fcm: return .fcm
        case .webpush: return .webpush
        }
    }

    // MARK: Helpers

    private func phone(_ token: String) throws(Problem) -> SimulatedPhone {
        guard let phone = core.phones[token] ?? core.phones[token.lowercased()] else {
            throw Problem(404, "no such phone")
        }
        return phone
    }

    private func environment(_ text: String?) throws(Problem) -> PushEnvironment {
        guard let text else {
            // Only APNs has two environments.
            if case .apns(let environment) = connection.port { return environment } else { return .production }
        }
        guard let environment = PushEnvironment(rawValue: text) else {
            throw Problem(400, "no such environment: \(text)")
        }
        return environment
    }

    private func provider(_ text: String?) throws(Problem) -> PushProvider {
        guard let text else { return .apns }
        guard let provider = PushProvider(rawValue: text) else { throw Problem(400, "no such provider: \(text)") }
        return provider
    }

    private func body<Value: Decodable>(_: Value.Type, of request: HTTP2ServerRequest) throws(Problem) -> Value {
        guard let value = PhoneLinkMessages.decode(Value.self, from: request.body) else {
            throw Problem(400, "invalid request body")
        }
        return value
    }
}
