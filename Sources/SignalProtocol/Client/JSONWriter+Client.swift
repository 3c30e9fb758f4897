import CallVocabulary
import WireJSON

/// Writes client messages.
extension JSONWriter {
    mutating func request(_ id: RequestID, _ request: ClientRequest) {
        call(request.method, id: id) { $0.members(request) }
    }

    mutating func notification(_ notification: ClientNotification, id: RequestID?) {
        switch notification {
        case .ack(let seq): call(.sessionAck, id: id) { $0.field("seq", seq) }
        case .candidates(let batch): call(.callCandidates, id: id) { $0.members(batch) }
        }
    }

    private mutating func call(
        _ method: ClientMethod, id: RequestID?, _ params: (inout JSONWriter) -> Void
    ) {
        message { json in
            if let id { json.id(id) }
            json.field("method", method.rawValue)
            json.field("params") { $0.object(params) }
        }
    }

    private mutating func members(_ request: ClientRequest) {
        switch request {
        case .open(let open): members(open)
        case .session(.state(let app)): field("app", app.rawValue)
        case .session(.close), .owner(.logout): break
        case .owner(.updateDevice(let push)): field("push", push)
        case .call(.report(let report)):
            field("push_id", report.push)
            field("call_id", report.call)
            field("result", report.result.rawValue)
            field("error", report.error)
        case .owner(.invite(let invite)): members(invite)
        case .call(.ringing(let call)), .call(.connected(let call)), .call(.get(let call)): field("call_id", call)
        case .call(.answer(let call, let sdp)):
            field("call_id", call)
            field("sdp", sdp)
        case .call(.decline(let call, let reason)):
            field("call_id", call)
            field("reason", reason.rawValue)
        case .call(.hangup(let call, let reason)):
            field("call_id", call)
            field("reason", reason.rawValue)
        case .call(.update(let update)): members(update)
        case .owner(.list(let cursor, let limit)):
            field("before", cursor?.before)
            field("before_call_id", cursor?.call)
            field("limit", limit)
        case .owner(.clearMissed(let upTo)): field("up_to", upTo)
        }
    }

    private mutating func members(_ open: SessionOpen) {
        field("token", open.token)
        field("device") { json in
            json.object { json in
                json.field("id", open.device.id)
                json.field("platform", open.device.platform.rawValue)
                json.field("app", open.device.app)
                json.field("name", open.device.name)
            }
        }
        if let push = open.push { field("push", push) }
        guard let resume = open.resume else { return }
        field("resume") { json in
            json.object { json in
                json.field("session_id", resume.session)
                json.field("token", resume.token)
                json.field("last_seq", resume.lastSeq)
            }
        }
    }

    private mutating func field(_ name: StaticString, _ tokens: [PushToken]) {
        field(name) { json in
            json.array { json in
                for token in tokens { json.value(token) }
            }
        }
    }

    private mutating func value(_ token: PushToken) {
        object { json in
            json.field("provider", token.provider.rawValue)
            json.field("kind", token.kind.rawValue)
            json.field("environment", token.environment.rawValue)
            json.field("topic", token.topic)
            json.field("token", token.token)
            json.field("profile", token.profile)
        }
    }

    private mutating func members(_ invite: Invite) {
        field("call_id", invite.call)
        field("to", invite.to)
        field("ring_ms", invite.ringTime?.wholeMilliseconds)
        field("max_duration_ms", invite.maxDuration?.wholeMilliseconds)
        field("video", invite.video)
        field("sdp", invite.sdp)
        field("custom", invite.custom)
    }
}

extension ClientRequest {
    /// The method that the request calls.
    public var method: ClientMethod {
        switch self {
        case .open: .sessionOpen
        case .session(.state): .sessionState
        case .session(.close): .sessionClose
        case .owner(.logout): .sessionLogout
        case .owner(.updateDevice): .deviceUpdate
        case .call(.report): .pushReport
        case .owner(.invite): .callInvite
        case .call(.ringing): .callRinging
        case .call(.answer): .callAnswer
        case .call(.decline): .callDecline
        case .call(.connected): .callConnected
        case .call(.hangup): .callHangup
        case .call(.update): .callUpdate
        case .call(.get): .callGet
        case .owner(.list): .callList
        case .owner(.clearMissed): .missedClear
        }
    }
}
