import CallVocabulary
import WireJSON

/// Writes the `result` of each request.
///
/// Clients distinguish results by their members, so no two kinds may have the same members.
extension JSONWriter {
    mutating func value(_ reply: Reply, now: Instant) {
        switch reply {
        case .call(let call): value(call, now: now)
        case .backendCall(let call):
            object { json in
                json.members(call.snapshot, now: now)
                json.field("version", String(call.version, radix: 16))
                json.field("candidates", call.candidates)
                json.field("final", call.candidatesAreFinal)
            }
        case .done, .opened, .invited, .inviteEnded, .callState, .won, .calls:
            object { $0.members(reply, now: now) }
        }
    }

    private mutating func members(_ reply: Reply, now: Instant) {
        switch reply {
        case .done, .call, .backendCall: break
        case .opened(let opened): members(opened, now: now)
        case .invited(let call, let state, let expiresAt):
            field("call_id", call)
            field("state", state.rawValue)
            deadline(expiresAt, now: now)
        case .inviteEnded(let call, let reason):
            field("call_id", call)
            field("state", CallState.ended.rawValue)
            field("reason", reason.rawValue)
        case .callState(let state, let reason):
            field("state", state.rawValue)
            field("reason", reason?.rawValue)
        case .won: field("won", true)
        case .calls(let calls, let next):
            self.calls(calls, now: now)
            field("next", next?.before)
            field("next_call_id", next?.call)
        }
    }

    private mutating func members(_ opened: SessionOpened, now: Instant) {
        field("session_id", opened.session)
        field("user", opened.user)
        field("resume") { json in
            json.object { json in
                json.field("token", opened.resumeToken)
                json.field("window_ms", opened.resumeWindow.wholeMilliseconds)
            }
        }
        field("resumed", opened.resumed)
        calls(opened.calls, now: now)
        field("missed") { json in
            json.array { json in
                for call in opened.missed { json.value(call) }
            }
        }
        if !opened.iceServers.isEmpty { iceServers(opened.iceServers, now: now) }
        if let key = opened.webPushKey {
            field("webpush") { json in json.object { $0.field("key", key) } }
        }
    }

    mutating func iceServers(_ servers: [ICEServer], now: Instant) {
        field("ice_servers") { json in
            json.array { json in
                for server in servers {
                    json.object { json in
                        json.field("urls") { json in
                            json.array { json in
                                for url in server.urls { json.string(url) }
                            }
                        }
                        json.field("username", server.username)
                        json.field("credential", server.credential)
                        json.deadline(server.expiresAt, now: now)
                    }
                }
            }
        }
    }

    private mutating func calls(_ calls: [CallSnapshot], now: Instant) {
        field("calls") { json in
            json.array { json in
                for call in calls { json.value(call, now: now) }
            }
        }
    }

    private mutating func value(_ missed: MissedCall) {
        object { json in
            json.field("call_id", missed.call)
            json.caller(missed.from, missed.fromName)
            json.field("at", missed.at)
            json.field("reason", missed.reason.rawValue)
            json.field("video", missed.video)
        }
    }

    mutating func value(_ call: CallSnapshot, now: Instant) {
        object { $0.members(call, now: now) }
    }

    private mutating func members(_ call: CallSnapshot, now: Instant) {
        field("call_id", call.call)
        field("role", call.role.rawValue)
        field("state", call.state.rawValue)
        caller(call.from, call.fromName)
        field("to", call.to)
        field("to_count", call.toCount)
        field("video", call.video)
        field("created_at", call.createdAt)
        deadline(call.expiresAt, now: now)
        field("answered_at", call.answeredAt)
        field("connected_at", call.connectedAt)
        field("ended_at", call.endedAt)
        field("lost_at", call.lostAt)
        field("reason", call.reason?.rawValue)
        party(call.by)
        if let reason = call.reason { causes(of: reason, isOwnAct: call.isOwnAct) }
        field("sdp", call.sdp)
        field("custom", call.custom)
        field("push_id", call.push)
        field("peer_away_since", call.peerAwaySince)
        field("merged_into", call.mergedInto)
    }
}
