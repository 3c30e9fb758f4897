import CallVocabulary
import HTTP2

/// The simulator's own HTTP: the phones' link and the admin calls, under `/simulator/v1/`. Bodies are JSON.
///
/// ```
/// POST   phones                    {topic, environment?, name?}      201 {token}
/// GET    phones/{token}                                              200, a stream of JSON lines while attached
/// DELETE phones/{token}                                              the app is removed: 410 for its pushes
/// POST   phones/{token}/reported   {push_id | uuid}                  200 {verdict: accepted | not_awaited}
/// POST   phones/{token}/state      {state: foreground | background | killed | offline | online}
/// POST   faults                    {fault, token?, count?, reason?, status?, timestamp?, delay_ms?}
/// DELETE faults
/// POST   goaway                    {environment?, reason?}           to the providers connected now
/// GET    state                                                       200 PushSimulatorSnapshot
/// ```
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
        /// The stream goes on.
        case streaming
    }

    func handle(_ request: HTTP2ServerRequest, stream: StreamID) {
        do throws(Problem) {
            switch try answer(to: request, stream: stream) {
            case .json(let status, let body): connection.answer(stream, status: status, json: body)
            case .empty: connection.answer(stream, status: 200, json: Array("{}".utf8))
            case .streaming: break
            }
        } catch {
            let failure = PhoneLinkMessages.Failure(error: error.text)
            connection.answer(stream, status: error.status, json: PhoneLinkMessages.encode(failure))
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
        guard let phone = core.register(topic: asked.topic, environment: environment, name: name) else {
            throw Problem(503, "there are \(SimulatorCore.mostPhones) phones already")
        }
        return .json(201, PhoneLinkMessages.encode(PhoneLinkMessages.Registered(token: phone.token)))
    }

    private func attach(_ token: String, stream: StreamID) throws(Problem) -> Answer {
        let phone = try phone(token)
        guard phone.unregisteredSince == nil else { throw Problem(410, "the app was removed from this phone") }
        if connection.startStream(stream, of: phone.token) {
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
        let verdict = core.report(pushID: pushID, by: phone)
        return .json(200, PhoneLinkMessages.encode(PhoneLinkMessages.Verdict(verdict: verdict.rawValue)))
    }

    private func move(_ request: HTTP2ServerRequest, token: String) throws(Problem) -> Answer {
        let phone = try phone(token)
        let text = try body(PhoneLinkMessages.StateChange.self, of: request).state
        guard let state = PhoneLink.PhoneState(rawValue: text) else { throw Problem(400, "no such state: \(text)") }
        switch state {
        case .foreground: phone.machine.appMoved(to: .foreground)
        case .background: phone.machine.appMoved(to: .background)
        case .killed: phone.machine.appMoved(to: .killed)
        case .offline: phone.machine.phoneDetached()
        case .online: core.reach(phone)
        }
        return .empty
    }

    // MARK: Admin

    private func injectFault(_ request: HTTP2ServerRequest) throws(Problem) -> Answer {
        let asked = try body(PhoneLinkMessages.Fault.self, of: request)
        if let count = asked.count, count < 1 { throw Problem(400, "count is not positive") }
        let fault = PushFault(try effect(asked), deviceToken: asked.token, count: asked.count)
        guard core.inject(fault) else { throw Problem(503, "\(SimulatorCore.mostFaults) faults wait already") }
        return .empty
    }

    private func effect(_ asked: PhoneLinkMessages.Fault) throws(Problem) -> PushFault.Effect {
        switch asked.fault {
        case "refuse":
            guard let reason = try reason(asked.reason) else { throw Problem(400, "refuse needs a reason") }
            if let status = asked.status, !(400...599).contains(status) { throw Problem(400, "status is not 400–599") }
            let timestamp = asked.timestamp.map { Instant(milliseconds: $0) }
            return .refuse(reason, status: asked.status, timestamp: timestamp)
        case "lose": return .lose
        case "late":
            guard let delay = asked.delayMilliseconds, (0...3_600_000).contains(delay) else {
                throw Problem(400, "late needs delay_ms, at most an hour")
            }
            return .deliverLate(.milliseconds(delay))
        case "no_answer": return .neverAnswer
        case "goaway": return .goAway(try reason(asked.reason))
        default: throw Problem(400, "no such fault: \(asked.fault)")
        }
    }

    private func goAway(_ request: HTTP2ServerRequest) throws(Problem) -> Answer {
        let asked = try body(PhoneLinkMessages.GoAway.self, of: request)
        core.retireProviders(environment: try environment(asked.environment), reason: try reason(asked.reason))
        return .empty
    }

    // MARK: Helpers

    private func phone(_ token: String) throws(Problem) -> SimulatedPhone {
        guard let phone = core.phones[token.lowercased()] else { throw Problem(404, "no such phone") }
        return phone
    }

    private func environment(_ text: String?) throws(Problem) -> PushEnvironment {
        guard let text else { return connection.environment }
        guard let environment = PushEnvironment(rawValue: text) else {
            throw Problem(400, "no such environment: \(text)")
        }
        return environment
    }

    private func reason(_ text: String?) throws(Problem) -> APNSReason? {
        guard let text else { return nil }
        guard let reason = APNSReason(rawValue: text) else { throw Problem(400, "no such reason: \(text)") }
        return reason
    }

    private func body<Value: Decodable>(_: Value.Type, of request: HTTP2ServerRequest) throws(Problem) -> Value {
        guard let value = PhoneLinkMessages.decode(Value.self, from: request.body) else {
            throw Problem(400, "the body is not the JSON expected here")
        }
        return value
    }
}
