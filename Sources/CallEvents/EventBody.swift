import AdminProtocol
import CallCore
import CallVocabulary
import WireJSON

/// The body of the message that tells an event, as Standard Webhooks has it: `type`, `timestamp` and `data`.
///
/// It is stored with the event, and sent byte for byte: an event id never has two contents. Calls, pushes and devices have
/// the members that they have in the admin API, so a receiver reads both with the same code.
public enum EventBody {
    /// Appends the body, of at most ``longest`` bytes: large custom data is left out, and a long list of callees is cut,
    /// as is a long name of the caller, which a row of the store may have.
    public static func append(_ event: EventRecord, to bytes: inout [UInt8]) {
        JSONWriter.append(to: &bytes) { json in
            json.object { json in
                json.field("type", event.kind.rawValue)
                json.field("timestamp", Timestamp(event.at).rfc3339)
                json.field("data") { json in
                    json.object { $0.members(of: event.subject) }
                }
            }
        }
    }

    /// The longest custom data in a body, in bytes.
    static let longestCustom = 8 * 1024
    /// The most bytes of handles in a list of callees; as JSON they take twice as much at most.
    static let longestList = 4 * 1024
    /// The longest body, in bytes: the custom data, the list with each byte escaped and each handle in quotation marks, and
    /// the other members, which have limits of their own.
    static let longest = longestCustom + 2 * longestList + 3 * FrameLimits.handles + 4 * 1024
}

extension JSONWriter {
    fileprivate mutating func members(of subject: EventRecord.Subject) {
        switch subject {
        case .call(let call, let number, let change):
            field("seq", number)
            field("call") { json in
                json.object { $0.members(of: call) }
            }
            members(of: change)
        case .device(let device, let change):
            field("device") { json in
                json.object { $0.members(of: device) }
            }
            if case .tokenDead(let token) = change { field("token", token, registeredAt: nil) }
        }
    }

    private mutating func members(of change: EventRecord.CallChange) {
        switch change {
        case .invited(let custom):
            if let custom, custom.bytes.count <= EventBody.longestCustom { field("custom", custom) }
        case .ringing, .answered, .connected, .ended: break
        case .missed(let user): field("user", user.text)
        case .pushRejected(let push), .pushUnreported(let push):
            field("push") { json in
                json.object { $0.members(of: push) }
            }
        }
    }

    /// As `CallView`.
    private mutating func members(of call: CallRecord) {
        field("call_id", call.id)
        field("state", call.state.rawValue)
        field("from", call.caller.user.text)
        field("from_device_id", call.caller.device)
        field("from_name", call.callerName?.cut(to: FrameLimits.name))
        field("to", call.to, count: call.toCount)
        if let forward = call.forwards.last { field("forwarded_to", forward.to) }
        field("video", call.video)
        time("created_at", call.createdAt)
        time("rings_until", call.ringsUntil)
        time("ringing_at", call.ringingAt)
        time("answered_at", call.answeredAt)
        field("answered_by", call.answeredBy?.user.text)
        field("answered_by_device_id", call.answeredBy?.device)
        time("connected_at", call.connectedAt)
        time("lost_at", call.lostAt == nil ? nil : call.talkEndedAt)
        time("ended_at", call.endedAt)
        field("reason", call.endReason?.rawValue)
        field("ended_by", call.endedBy?.user.text)
        field("ended_by_device_id", call.endedBy?.device)
        field("merged_into", call.mergedInto)
    }

    /// As `PushView`.
    private mutating func members(of push: PushRecord) {
        field("push_id", push.id)
        field("purpose", push.purpose.rawValue)
        field("delivery", push.delivery?.rawValue)
        field("call_id", push.call)
        field("user", push.device.user.text)
        field("device_id", push.device.device)
        field("token", push.token, registeredAt: nil)
        field("status", push.status.rawValue)
        field("report", push.report?.rawValue)
        field("reason", push.reason)
        field("report_error", push.reportError)
        time("intended_at", push.intendedAt)
        time("expires_at", push.expiresAt)
        time("sent_at", push.sentAt)
        time("answered_at", push.answeredAt)
        time("reported_at", push.reportedAt)
        time("report_due_at", push.reportDueAt)
    }

    /// As `DeviceView`.
    private mutating func members(of device: DeviceRecord) {
        field("user", device.key.user.text)
        field("device_id", device.key.device)
        field("platform", device.platform.rawValue)
        field("app", device.app)
        field("name", device.name)
        field("tokens") { json in
            json.array { json in
                for token in device.tokens {
                    json.object { $0.members(of: TokenView(token.token), registeredAt: token.registeredAt) }
                }
            }
        }
        time("seen_at", device.seenAt)
        field("unreported_streak", device.unreportedStreak)
        field("is_suspended", device.suspendedAt != nil)
        time("suspended_at", device.suspendedAt)
        time("next_probe_at", device.nextProbeAt)
    }

    private mutating func field(_ name: StaticString, _ token: PushToken, registeredAt: Instant?) {
        field(name) { json in
            json.object { $0.members(of: TokenView(token), registeredAt: registeredAt) }
        }
    }

    private mutating func members(of token: TokenView, registeredAt: Instant?) {
        field("provider", token.provider.rawValue)
        field("kind", token.kind.rawValue)
        field("environment", token.environment.rawValue)
        field("topic", token.topic)
        field("token", token.token)
        field("profile", token.profile)
        time("registered_at", registeredAt)
    }

    /// - Parameter count: the length of a list that was cut before.
    private mutating func field(_ name: StaticString, _ target: CallTarget, count: Int? = nil) {
        switch target {
        case .user(let user): field(name, user.text)
        case .users(let users):
            var size = 0
            let shown = users.prefix { user in
                size += user.text.utf8.count
                return size <= EventBody.longestList
            }
            field(name) { json in
                json.array { json in
                    for user in shown { json.string(user.text) }
                }
            }
            if let count = count ?? (shown.count < users.count ? users.count : nil) { field("to_count", count) }
        case .group(let group):
            field(name) { json in
                json.object { $0.field("group", group) }
            }
        }
    }

    /// As `Timestamp`; left out when nil.
    private mutating func time(_ name: StaticString, _ instant: Instant?) {
        guard let instant else { return }
        field(name) { json in
            json.object { json in
                json.field("ms", instant)
                json.field("rfc3339", Timestamp(instant).rfc3339)
            }
        }
    }
}

extension String {
    /// The longest prefix of whole Unicode scalars that takes at most `limit` bytes.
    fileprivate func cut(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var size = 0
        let fitting = unicodeScalars.prefix { scalar in
            size += UTF8.width(scalar)
            return size <= limit
        }
        return String(fitting)
    }
}
