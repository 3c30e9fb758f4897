import CallVocabulary
import WireJSON

/// A client's message without its `id`.
enum ClientCall {
    case request(ClientRequest)
    case notification(ClientNotification)
}

/// Reads the `params` of each client method.
extension FieldReader {
    /// The ring times that an invite may ask for; the server may be configured for less.
    static let ringMilliseconds: ClosedRange<Int64> = 5000...600_000
    /// Up to a week.
    static let durationMilliseconds: ClosedRange<Int64> = 1000...604_800_000

    /// - Parameter memory: for payloads that are only relayed.
    func message(of method: ClientMethod, in memory: PayloadMemory?) throws(FieldFailure) -> ClientCall {
        switch method {
        case .sessionAck: .notification(.ack(seq: try integer("seq", in: 0...UInt64.max)))
        case .callCandidates: .notification(.candidates(try candidates(in: memory)))
        case .sessionOpen: .request(.open(try sessionOpen()))
        case .sessionState: .request(.session(.state(try choice("app"))))
        case .sessionClose: .request(.session(.close))
        case .sessionLogout: .request(.owner(.logout))
        case .deviceUpdate: .request(.owner(.updateDevice(push: try deviceUpdate())))
        case .pushReport: .request(.call(.report(try pushReport(try identifier("push_id")))))
        case .callInvite: .request(.owner(.invite(try invite(try identifier("call_id")))))
        case .callRinging: .request(.call(try request(.ringing, in: identifier("call_id"))))
        case .callAnswer: .request(.call(try request(.answer, in: identifier("call_id"))))
        case .callDecline: .request(.call(try request(.decline, in: identifier("call_id"))))
        case .callConnected: .request(.call(.connected(try identifier("call_id"))))
        case .callHangup: .request(.call(try request(.hangup, in: identifier("call_id"))))
        case .callUpdate: .request(.call(.update(try update(in: memory))))
        case .callGet: .request(.call(.get(try identifier("call_id"))))
        case .callList: .request(.owner(.list(after: try listCursor(), limit: try listLimit())))
        case .missedClear: .request(.owner(.clearMissed(upTo: try instant("up_to"))))
        }
    }

    /// Reads the members of an action except the call id, which HTTP has in the path.
    func request(_ action: CallAction, in call: CallID) throws(FieldFailure) -> CallRequest {
        switch action {
        case .ringing: .ringing(call)
        case .answer: .answer(call, sdp: try sdp())
        case .decline: .decline(call, try optionalChoice("reason") ?? .declined)
        case .hangup: .hangup(call, try optionalChoice("reason") ?? .hangup)
        }
    }

    private func listCursor() throws(FieldFailure) -> HistoryCursor? {
        if let call: CallID = try optionalIdentifier("before_call_id") {
            return HistoryCursor(before: try instant("before"), call: call)
        }
        return try optionalInstant("before").map { HistoryCursor(before: $0) }
    }

    private func listLimit() throws(FieldFailure) -> Int? {
        try optionalInteger("limit", in: 1...FrameLimits.listedCalls)
    }

    private func sessionOpen() throws(FieldFailure) -> SessionOpen {
        if let token = object["token"], token.textCount > FrameLimits.token {
            throw tooLarge("token", FrameLimits.token)
        }
        let token = try asciiString("token", upTo: FrameLimits.token)
        let device = try object("device") { (device) throws(FieldFailure) in
            DeviceDescription(
                id: try device.identifier("id"), platform: try device.choice("platform"),
                app: try device.optionalString("app", upTo: FrameLimits.name),
                name: try device.optionalString("name", upTo: FrameLimits.name))
        }
        let resume = try optionalObject("resume") { (resume) throws(FieldFailure) in
            ResumeRequest(
                session: try resume.identifier("session_id"),
                token: try resume.asciiString("token", upTo: FrameLimits.resumeToken),
                lastSeq: try resume.integer("last_seq", in: 0...UInt64.max))
        }
        return SessionOpen(token: token, device: device, push: try pushTokens(), resume: resume)
    }

    private func deviceUpdate() throws(FieldFailure) -> [PushToken] {
        guard let tokens = try pushTokens() else {
            throw FieldFailure(path: "push", problem: .missing, expected: "a list of push tokens; [] removes them")
        }
        return tokens
    }

    private func pushTokens() throws(FieldFailure) -> [PushToken]? {
        let expected = "a push token {provider, kind, environment, topic, token, profile?}"
        return try optionalArray("push", upTo: FrameLimits.pushTokens, of: expected) { (value) throws(FieldFailure) in
            guard value.kind == .object else { return nil }
            return try FieldReader(JSONObject(value)).pushToken()
        }
    }

    private func pushToken() throws(FieldFailure) -> PushToken {
        let provider: PushProvider = try choice("provider")
        let token = PushToken(
            provider: provider, kind: try choice("kind"), environment: try choice("environment"),
            topic: try string("topic", upTo: FrameLimits.topic),
            token: try string("token", upTo: PushToken.longest(of: provider)),
            profile: try optionalString("profile", upTo: FrameLimits.profile))
        // Refused now, instead of in a call that does not ring.
        if let fault = token.fault {
            throw FieldFailure(path: fault.member.rawValue, problem: .mistyped, expected: fault.expected)
        }
        return token
    }

    /// Reads the members of a push report except the push id, which HTTP has in the path.
    func pushReport(_ push: PushID) throws(FieldFailure) -> PushReport {
        PushReport(
            push: push, call: try identifier("call_id"), result: try choice("result"),
            error: try optionalLongString("error", upTo: FrameLimits.reportError))
    }

    /// Reads the members of `POST /v1/backend/calls`.
    /// - Parameter standard: the call's id, if the body has none.
    func backendInvite(_ standard: CallID) throws(FieldFailure) -> BackendInvite {
        BackendInvite(
            invite: try invite(try optionalIdentifier("call_id") ?? standard),
            from: try required("from", Self.handle) { $0.string.flatMap { Handle($0) } },
            name: try optionalString("from_name", upTo: FrameLimits.name).flatMap { DisplayName($0)?.text })
    }

    /// The decoder does not know the server's maximum, which may be any time of the range.
    private static let ringTime =
        "a whole number from \(ringMilliseconds.lowerBound) to \(ringMilliseconds.upperBound), "
        + "or to the server's own maximum (limits.ring_time_seconds) if that is less"

    private func invite(_ call: CallID) throws(FieldFailure) -> Invite {
        let invite = Invite(
            call: call, to: try target(),
            ringTime: try optional("ring_ms", Self.ringTime) {
                $0.integer(Int64.self).flatMap { Self.ringMilliseconds.contains($0) ? Duration.milliseconds($0) : nil }
            },
            maxDuration: try optionalInteger("max_duration_ms", in: Self.durationMilliseconds).map {
                .milliseconds($0)
            },
            video: try bool("video") ?? false, sdp: try sdp(), custom: try custom())
        // Counted as in the frame, like `sdp` and `custom`.
        let target = object["to"]?.bytes.count ?? 0
        let content = target + (invite.sdp?.bytes.count ?? 0) + (invite.custom?.bytes.count ?? 0)
        guard content <= FrameLimits.content else {
            throw FieldFailure(
                path: "sdp",
                problem: .tooLarge(limit: FrameLimits.content, unit: "bytes of to, sdp and custom together"),
                expected: "")
        }
        return invite
    }
}
