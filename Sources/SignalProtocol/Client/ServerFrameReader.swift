import CallVocabulary
import WireJSON

/// Reads server messages.
struct ServerFrameReader {
    let receivedAt: Instant?

    func frame(_ envelope: Envelope) throws(SignalError) -> ServerFrame {
        guard envelope.isVersion2 else { throw SignalError(.invalidRequest, "jsonrpc: expected \"2.0\"") }
        if envelope.method != nil {
            return try notification(try envelope.methodName(), FieldReader(envelope.params ?? JSONObject()))
        }
        if let error = envelope.error {
            guard error.kind == .object else { throw SignalError(.invalidRequest, "error: expected an object") }
            return .message(.error(envelope.requestID, self.error(FieldReader(JSONObject(error)))))
        }
        guard let result = envelope.result, result.kind == .object else {
            throw SignalError(.invalidRequest, "expected a method, an error or an object as result")
        }
        guard let id = envelope.requestID else {
            throw SignalError(.invalidRequest, "id: a result needs that of its request")
        }
        do throws(FieldFailure) {
            return .message(.reply(id, try reply(FieldReader(JSONObject(result)))))
        } catch {
            throw error.error(in: "result")
        }
    }

    // MARK: Notifications

    private func notification(_ name: JSONValue, _ params: FieldReader) throws(SignalError) -> ServerFrame {
        do throws(FieldFailure) {
            switch name.choice(ServerMethod.self) {
            case .welcome?: return .message(.welcome(try welcome(params)))
            case .callIncoming?: return try event(.incoming(try incoming(params)), params)
            case .callState?: return try event(.state(try stateChange(params)), params)
            case .callEnded?: return try event(.ended(try ended(params)), params)
            case .callCandidates?: return try event(.candidates(try params.candidates()), params)
            case .callUpdate?: return try event(.update(try params.update()), params)
            case .callPeer?: return try event(.peer(try peerChange(params)), params)
            case .serverDraining?: return try event(.draining(deadline: try params.duration("deadline_ms")), params)
            case nil: return .ignored(method: name.longString ?? "", seq: params.object["seq"]?.integer())
            }
        } catch {
            throw error.error(in: "params")
        }
    }

    private func event(_ event: ServerEvent, _ params: FieldReader) throws(FieldFailure) -> ServerFrame {
        .message(.event(seq: try params.integer("seq", in: 1...UInt64.max), event))
    }

    private func welcome(_ params: FieldReader) throws(FieldFailure) -> Welcome {
        Welcome(
            protocolVersion: try params.integer("protocol", in: 1...Int.max), server: try params.string("server"),
            version: try params.string("version"), node: try params.string("node"), time: try params.instant("time"),
            pingInterval: try params.duration("ping_interval_ms"),
            maxFrameBytes: try params.integer("max_frame_bytes", in: 1...Int.max),
            features: try params.array("features", of: "a string") { $0.string })
    }

    private func incoming(_ params: FieldReader) throws(FieldFailure) -> IncomingCall {
        let from = try caller(params)
        guard let expiresAt = try deadline(params) else {
            throw FieldFailure(path: "expires_at", problem: .missing, expected: "a time in milliseconds")
        }
        return IncomingCall(
            call: try params.identifier("call_id"), from: from.handle, fromName: from.name,
            to: try params.target { Handle(known: $0) },
            video: try params.bool("video") ?? false, sdp: try params.sdp(),
            candidates: Array(try params.candidateList()),
            custom: try params.custom(), expiresAt: expiresAt, push: try params.optionalIdentifier("push_id"))
    }

    private func stateChange(_ params: FieldReader) throws(FieldFailure) -> CallStateChange {
        let legs = try params.object("legs") { (legs) throws(FieldFailure) in
            (waking: try legs.integer("waking", in: 0...Int.max), ringing: try legs.integer("ringing", in: 0...Int.max))
        }
        return CallStateChange(
            call: try params.identifier("call_id"), state: try params.choice("state"), at: try params.instant("at"),
            by: try party(params), sdp: try params.sdp(), waking: legs.waking, ringing: legs.ringing,
            expiresAt: try deadline(params), isPolite: try params.bool("polite"))
    }

    private func ended(_ params: FieldReader) throws(FieldFailure) -> CallEnded {
        CallEnded(
            call: try params.identifier("call_id"), reason: try params.choice("reason"), by: try party(params),
            at: try params.instant("at"), isOwnAct: try params.optionalString("callkit_reason") == nil,
            mergedInto: try params.optionalIdentifier("merged_into"))
    }

    private func caller(_ params: FieldReader) throws(FieldFailure) -> (handle: Handle, name: String?) {
        try params.object("from") { (from) throws(FieldFailure) in
            (handle: try from.handle("handle"), name: try from.optionalString("name"))
        }
    }

    private func peerChange(_ params: FieldReader) throws(FieldFailure) -> PeerChange {
        guard let by = try party(params) else {
            throw FieldFailure(path: "by", problem: .missing, expected: "the other side")
        }
        let until = try deadline(params)
        let presence: PeerChange.Presence
        switch try params.string("presence") {
        case "away": presence = .away(until: until)
        case "back": presence = .back
        default: throw params.mistyped("presence", "away or back")
        }
        return PeerChange(
            call: try params.identifier("call_id"), presence: presence, at: try params.instant("at"), by: by)
    }

    private func party(_ params: FieldReader) throws(FieldFailure) -> Party? {
        try params.optionalObject("by") { (by) throws(FieldFailure) in
            Party(user: try by.handle("user"), device: try by.optionalIdentifier("device_id"))
        }
    }

    private func deadline(_ params: FieldReader) throws(FieldFailure) -> Instant? {
        let expiresAt = try params.optionalInstant("expires_at")
        guard expiresAt != nil, let receivedAt, let remaining = try params.optionalDuration("remaining_ms") else {
            return expiresAt
        }
        return receivedAt + remaining
    }

    // MARK: Results

    private func reply(_ result: FieldReader) throws(FieldFailure) -> Reply {
        let object = result.object
        if object["session_id"] != nil { return .opened(try opened(result)) }
        if object["won"] != nil { return .won }
        if object["calls"] != nil {
            let next = try result.optionalInstant("next")
            let last: CallID? = try result.optionalIdentifier("next_call_id")
            return .calls(try calls(result), next: next.map { HistoryCursor(before: $0, call: last) })
        }
        if object["role"] != nil { return .call(try snapshot(result)) }
        guard object["state"] != nil else { return .done }
        let state = try result.choice("state", CallState.self)
        guard object["call_id"] != nil else { return .callState(state, try result.optionalChoice("reason")) }
        let call: CallID = try result.identifier("call_id")
        if let expiresAt = try deadline(result) { return .invited(call, state, expiresAt: expiresAt) }
        return .inviteEnded(call, try result.choice("reason"))
    }

    private func opened(_ result: FieldReader) throws(FieldFailure) -> SessionOpened {
        let resume = try result.object("resume") { (resume) throws(FieldFailure) in
            (token: try resume.string("token"), window: try resume.duration("window_ms"))
        }
        let missed = try result.array("missed", of: "a missed call") { (value) throws(FieldFailure) -> MissedCall? in
            guard value.kind == .object else { return nil }
            return try missedCall(FieldReader(JSONObject(value)))
        }
        return SessionOpened(
            session: try result.identifier("session_id"), user: try result.handle("user"), resumeToken: resume.token,
            resumeWindow: resume.window, resumed: try result.bool("resumed") ?? false, calls: try calls(result),
            missed: missed, iceServers: try iceServers(result),
            webPushKey: try result.optionalObject("webpush") { (webPush) throws(FieldFailure) in
                try webPush.string("key")
            })
    }

    private func iceServers(_ result: FieldReader) throws(FieldFailure) -> [ICEServer] {
        let servers = try result.optionalArray("ice_servers", of: "a server") {
            (value) throws(FieldFailure) -> ICEServer? in
            guard value.kind == .object else { return nil }
            let server = FieldReader(JSONObject(value))
            return ICEServer(
                urls: try server.array("urls", of: "a string") { (url) throws(FieldFailure) in url.string },
                username: try server.string("username"), credential: try server.string("credential"),
                expiresAt: try server.instant("expires_at"))
        }
        return servers ?? []
    }

    private func calls(_ result: FieldReader) throws(FieldFailure) -> [CallSnapshot] {
        try result.array("calls", of: "a call") { (value) throws(FieldFailure) -> CallSnapshot? in
            guard value.kind == .object else { return nil }
            return try snapshot(FieldReader(JSONObject(value)))
        }
    }

    private func missedCall(_ fields: FieldReader) throws(FieldFailure) -> MissedCall {
        let from = try caller(fields)
        return MissedCall(
            call: try fields.identifier("call_id"), from: from.handle, fromName: from.name,
            at: try fields.instant("at"), reason: try fields.choice("reason"),
            video: try fields.bool("video") ?? false)
    }

    private func snapshot(_ fields: FieldReader) throws(FieldFailure) -> CallSnapshot {
        let from = try caller(fields)
        var call = CallSnapshot(
            call: try fields.identifier("call_id"), role: try fields.choice("role"), state: try fields.choice("state"),
            from: from.handle, fromName: from.name, to: try fields.target { Handle(known: $0) },
            video: try fields.bool("video") ?? false, createdAt: try fields.instant("created_at"))
        call.toCount = try fields.optionalInteger("to_count", in: 0...Int.max)
        call.expiresAt = try deadline(fields)
        call.answeredAt = try fields.optionalInstant("answered_at")
        call.connectedAt = try fields.optionalInstant("connected_at")
        call.endedAt = try fields.optionalInstant("ended_at")
        call.lostAt = try fields.optionalInstant("lost_at")
        call.reason = try fields.optionalChoice("reason")
        call.by = try party(fields)
        if call.reason != nil { call.isOwnAct = try fields.optionalString("callkit_reason") == nil }
        call.sdp = try fields.sdp()
        call.custom = try fields.custom()
        call.push = try fields.optionalIdentifier("push_id")
        call.peerAwaySince = try fields.optionalInstant("peer_away_since")
        call.mergedInto = try fields.optionalIdentifier("merged_into")
        return call
    }

    // MARK: Errors

    /// Reads an error leniently: an unreadable member must not leave the request unanswered.
    func error(_ error: FieldReader) -> SignalError {
        var code: SignalError.Code?
        var call: CallID?
        if let data = error.object["data"], data.kind == .object {
            let data = FieldReader(JSONObject(data))
            code = try? self.code(data)
            call = (try? data.optionalIdentifier("call_id")) ?? nil
        }
        return SignalError(code ?? .internalError, error.object["message"]?.longString ?? "", call: call)
    }

    private func code(_ data: FieldReader) throws(FieldFailure) -> SignalError.Code? {
        switch try data.string("code") {
        case "parse_error": return .parseError
        case "invalid_request": return .invalidRequest
        case "method_not_found": return .methodNotFound
        case "invalid_params": return .invalidParams
        case "internal_error": return .internalError
        case "unauthenticated": return .unauthenticated
        case "forbidden": return .forbidden
        case "not_found": return .notFound
        case "call_ended": return .callEnded(try data.choice("reason"))
        case "already_answered": return try party(data).map { .alreadyAnswered(by: $0) }
        case "bad_state": return .badState(try data.optionalChoice("state"))
        case "rate_limited": return .rateLimited(retryAfter: try data.duration("retry_after_ms"))
        case "too_large": return .tooLarge(limit: try data.integer("limit", in: 0...Int.max))
        case "conflict": return .conflict
        case "limit_reached": return .limitReached(limit: try data.integer("limit", in: 0...Int.max))
        case "overloaded": return .overloaded(retryAfter: try data.duration("retry_after_ms"))
        case "draining": return .draining
        default: return nil
        }
    }
}
