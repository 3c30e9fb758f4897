import CallVocabulary
import WireJSON

/// Writes server messages other than results.
extension JSONWriter {
    mutating func notification(_ method: ServerMethod, _ params: (inout JSONWriter) -> Void) {
        message { json in
            json.field("method", method.rawValue)
            json.field("params") { $0.object(params) }
        }
    }

    mutating func response(_ id: RequestID?, _ outcome: (inout JSONWriter) -> Void) {
        message { json in
            json.id(id)
            outcome(&json)
        }
    }

    mutating func event(seq: UInt64, _ event: ServerEvent, now: Instant) {
        switch event {
        case .incoming(let call): numbered(.callIncoming, seq) { $0.members(call, now: now) }
        case .state(let change): numbered(.callState, seq) { $0.members(change, now: now) }
        case .ended(let end): numbered(.callEnded, seq) { $0.members(end) }
        case .candidates(let batch): numbered(.callCandidates, seq) { $0.members(batch) }
        case .update(let update): numbered(.callUpdate, seq) { $0.members(update) }
        case .peer(let change): numbered(.callPeer, seq) { $0.members(change, now: now) }
        case .draining(let deadline):
            numbered(.serverDraining, seq) { $0.field("deadline_ms", deadline.wholeMilliseconds) }
        }
    }

    private mutating func numbered(
        _ method: ServerMethod, _ seq: UInt64, _ members: (inout JSONWriter) -> Void
    ) {
        notification(method) { json in
            json.field("seq", seq)
            members(&json)
        }
    }

    mutating func members(_ welcome: Welcome) {
        field("protocol", welcome.protocolVersion)
        field("server", welcome.server)
        field("version", welcome.version)
        field("node", welcome.node)
        field("time", welcome.time)
        field("ping_interval_ms", welcome.pingInterval.wholeMilliseconds)
        field("max_frame_bytes", welcome.maxFrameBytes)
        field("features") { json in
            json.array { json in
                for feature in welcome.features { json.string(feature) }
            }
        }
    }

    /// Writes `expires_at` and `remaining_ms`; neither without a deadline.
    mutating func deadline(_ deadline: Instant?, now: Instant) {
        guard let deadline else { return }
        field("expires_at", deadline)
        field("remaining_ms", max(0, (deadline - now).wholeMilliseconds))
    }

    mutating func party(_ party: Party?) {
        guard let party else { return }
        field("by") { json in
            json.object { json in
                json.field("user", party.user)
                json.field("device_id", party.device)
            }
        }
    }

    private mutating func members(_ call: IncomingCall, now: Instant) {
        field("call_id", call.call)
        caller(call.from, call.fromName)
        field("to", call.to)
        field("video", call.video)
        field("sdp", call.sdp)
        field("candidates", call.candidates)
        field("custom", call.custom)
        deadline(call.expiresAt, now: now)
        field("push_id", call.push)
    }

    private mutating func members(_ change: CallStateChange, now: Instant) {
        field("call_id", change.call)
        field("state", change.state.rawValue)
        field("at", change.at)
        party(change.by)
        field("sdp", change.sdp)
        field("legs") { json in
            json.object { json in
                json.field("waking", change.waking)
                json.field("ringing", change.ringing)
            }
        }
        deadline(change.expiresAt, now: now)
        if let isPolite = change.isPolite { field("polite", isPolite) }
    }

    private mutating func members(_ end: CallEnded) {
        field("call_id", end.call)
        field("reason", end.reason.rawValue)
        party(end.by)
        field("at", end.at)
        causes(of: end.reason, isOwnAct: end.isOwnAct)
        field("merged_into", end.mergedInto)
    }

    /// Writes `from`, the caller, as in events, snapshots and missed calls.
    mutating func caller(_ handle: Handle, _ name: String?) {
        // Names are cut where they come in; a row of the store may have a longer one.
        let isLong = name.map { $0.utf8.count > FrameLimits.name } ?? false
        let shown = isLong ? name.flatMap { DisplayName($0)?.text } : name
        field("from") { json in
            json.object { json in
                json.field("handle", handle)
                json.field("handle_type", handle.kind.rawValue)
                json.field("name", shown)
            }
        }
    }

    /// Writes the reason of an end as CallKit, SIP and Q.850 causes.
    mutating func causes(of reason: EndReason, isOwnAct: Bool) {
        key("callkit_reason")
        if isOwnAct { null() } else { string(reason.callKitReason) }
        field("sip_status", reason.sipStatus)
        field("q850", reason.q850Cause)
    }

    private mutating func members(_ change: PeerChange, now: Instant) {
        field("call_id", change.call)
        switch change.presence {
        case .away(let until):
            field("presence", "away")
            deadline(until, now: now)
        case .back: field("presence", "back")
        }
        field("at", change.at)
        party(change.by)
    }

    mutating func value(_ error: SignalError) {
        object { json in
            json.field("code", error.code.number)
            json.field("message", error.message)
            json.field("data") { json in
                json.object { json in
                    json.field("code", error.code.name)
                    json.details(of: error.code)
                    json.field("call_id", error.call)
                }
            }
        }
    }

    private mutating func details(of code: SignalError.Code) {
        switch code {
        case .callEnded(let reason): field("reason", reason.rawValue)
        case .alreadyAnswered(let by): party(by)
        case .badState(let state): field("state", state?.rawValue)
        case .rateLimited(let wait), .overloaded(let wait): field("retry_after_ms", wait.wholeMilliseconds)
        case .tooLarge(let limit), .limitReached(let limit): field("limit", limit)
        case .parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError, .unauthenticated,
            .forbidden, .notFound, .conflict, .draining:
            break
        }
    }
}

extension String {
    /// The longest prefix of whole Unicode scalars that takes at most `limit` bytes.
    func shortened(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var size = 0
        let fitting = unicodeScalars.prefix { scalar in
            size += UTF8.width(scalar)
            return size <= limit
        }
        return String(fitting)
    }
}
