import AdminProtocol
import CallVocabulary

/// What happened to a call, in sentences that answer why a phone did not ring.
struct CallStory {
    private let call: CallView
    private let devices: [DeviceStory]
    private let steps: Set<String>
    private let problems: [ServerProblem]

    /// - Parameter problems: those of the server, which may say why a push waits.
    init(_ detail: CallDetail, _ problems: [ServerProblem] = []) {
        call = detail.call
        self.problems = problems
        steps = Set(detail.timeline.map(\.step))
        let counts = Dictionary(grouping: detail.legs, by: \.user).mapValues(\.count)
        let ids = detail.deviceIDs
        let over = detail.over
        devices = detail.legs.map { leg in
            DeviceStory(
                leg: leg, push: detail.pushes.first { $0.pushID == leg.pushID }, over: over,
                isOnlyOne: counts[leg.user] == 1, ids: ids)
        }
    }

    /// The maximum number of devices described one by one.
    private static let mostDevices = 8

    /// One sentence on the call, and one on each device of note.
    var lines: [String] {
        let told = devices.filter { call.answeredAt == nil ? $0.isTold(of: call) : $0.isTrouble }
        // Of one device it is said in one breath.
        if devices.count == 1, let only = told.first, call.answeredAt == nil, let end = unansweredEnd {
            return [sentence("\(only.words); \(end)") + forwarded] + advice(told)
        }
        let lines = [summary + forwarded] + told.prefix(Self.mostDevices).map { "- " + sentence($0.words) }
        let rest = told.count - Self.mostDevices
        return lines + (rest > 0 ? ["- and \(PartyText.count(rest, "more device"))."] : []) + advice(told)
    }

    private var forwarded: String {
        call.forwardedTo == nil ? "" : " The call was forwarded to \(target)."
    }

    private var caller: String { call.from.text.shown }
    private var callee: String { PartyText.name(call.to.target) }
    /// The target that rings or rang last.
    private var target: String { PartyText.name((call.forwardedTo ?? call.to).target) }
    private var endedBy: String? { call.endedBy.map(\.text.shown) }
    private var winner: String { (call.answeredBy?.text.shown) ?? callee }

    private func after(_ time: Timestamp?) -> String {
        Moment.length((time?.instant ?? Moment.now) - call.createdAt.instant)
    }

    private var summary: String {
        guard let reason = call.reason else { return sentence(standing) }
        if call.answeredAt != nil { return "\(answer) \(sentence(answeredEnd(reason)))" }
        return sentence(unanswered(reason))
    }

    /// The state of a live call.
    private var standing: String {
        guard !Console.current.isServerDown else {
            return "no server runs: the call was \(call.state.rawValue) when it stopped, and goes on or ends when "
                + "one starts"
        }
        switch call.state {
        case .routing:
            let told = devices.count { $0.leg.state == "offered" }
            return told == 0
                ? "the call is on disk, and nobody has been told yet"
                : "\(PartyText.count(told, "device")) of \(target) \(told == 1 ? "has" : "have") been told, "
                    + "and none rings yet"
        case .waking: return "\(waking), and no device rings yet"
        case .ringing:
            let count = devices.count(where: \.rings)
            let rings = count == 0 ? "no device rings at present" : "it rings on \(PartyText.count(count, "device"))"
            return "\(rings); the ring time ends " + Moment.relative(call.ringsUntil.instant)
        case .answered:
            return "\(winner) answered after \(after(call.answeredAt)), and media does not flow on both sides yet"
        case .connected:
            return "\(winner) answered after \(after(call.answeredAt)), and they have been talking for \(talk)"
        case .ended: return "it is over"
        }
    }

    /// What the pushes do, and why, as far as the server knows.
    private var waking: String {
        let queued = devices.compactMap(\.push).filter { $0.status == .intended }
        guard !queued.isEmpty, devices.allSatisfy({ $0.push == nil || $0.push?.status == .intended }) else {
            return "a push is on its way to \(target)"
        }
        let reason = problems.lazy.compactMap { problem in
            queued.contains { problem.delays($0) } ? problem.reasonOfDelay : nil
        }.first
        return "the push to \(target) is still queued" + (reason.map { " (\($0))" } ?? "")
    }

    private var talk: String {
        guard let connectedAt = call.connectedAt else { return Moment.length(.zero) }
        return Moment.length(((call.lostAt ?? call.endedAt)?.instant ?? Moment.now) - connectedAt.instant)
    }

    // MARK: Answered

    private var answer: String {
        let device = devices.first { $0.leg.answeredAt != nil }
        let way = device?.leg.wokenAt != nil ? "was woken by a push and answered" : "answered"
        return "\(winner) \(way) after \(after(call.answeredAt))."
    }

    private func answeredEnd(_ reason: EndReason) -> String {
        let talked = call.connectedAt == nil ? "before media flowed on both sides" : "after \(talk) of talk"
        switch reason {
        case .hangup: return "\(endedBy ?? "somebody") hung up \(talked)"
        case .connectTimeout: return "\(media), and the call was given up after \(after(call.endedAt))"
        case .iceFailed: return "\(endedBy ?? "a side") found no way for media (\(reason.rawValue)) \(talked)"
        case .mediaFailed: return "\(endedBy ?? "a side") lost its media (\(reason.rawValue)) \(talked)"
        case .connectionLost: return "the connection to \(endedBy ?? "a side") was lost \(talked) and did not come back"
        case .admin: return "an administrator ended the call \(talked)"
        case .maxDuration: return "the call had lasted as long as it may, and ended \(talked)"
        case .declined, .cancelled, .busy, .ringTimeout, .answeredElsewhere, .declinedElsewhere, .noDevices,
            .unknownCallee, .glare, .forbidden:
            return "it ended as \(reason.rawValue) \(talked)"
        }
    }

    private var media: String {
        switch (steps.contains("caller_connected"), steps.contains("callee_connected")) {
        case (true, false): "\(caller) had media and \(winner) never did"
        case (false, true): "\(winner) had media and \(caller) never did"
        case (false, false), (true, true): "media never flowed on either side"
        }
    }

    // MARK: Not answered

    private var hasRung: Bool { call.ringingAt != nil }

    private func unanswered(_ reason: EndReason) -> String {
        switch reason {
        case .ringTimeout:
            return hasRung
                ? "nobody answered; \(unansweredEnd ?? "")"
                : "no device rang; the call was given up after \(after(call.endedAt))"
        case .declined:
            return endedBy.map { "\($0) declined after \(after(call.endedAt))" }
                ?? "\(target) takes no calls from \(caller) at present (do not disturb, or a block list)"
        case .cancelled:
            return "\(endedBy ?? caller) gave up after \(after(call.endedAt)), "
                + (hasRung ? "while it rang" : "before any device rang")
        case .busy: return "\(endedBy ?? target) was busy in another call"
        case .noDevices:
            return devices.isEmpty
                ? "\(target) has no device that is online or has a push token"
                : "no device of \(target) could be reached"
        case .unknownCallee: return "nobody is known as \(target)"
        case .glare:
            let other = call.mergedInto.map { ", and the call goes on as \($0)" } ?? ""
            return "\(caller) and \(callee) called each other at the same moment\(other)"
        case .admin: return "an administrator ended the call after \(after(call.endedAt)), before anybody answered"
        case .connectionLost: return "the connection to \(endedBy ?? caller) was lost before anybody answered"
        case .forbidden: return "\(caller) may not call \(callee)"
        case .hangup, .connectTimeout, .answeredElsewhere, .declinedElsewhere, .iceFailed, .mediaFailed, .maxDuration:
            return "it ended as \(reason.rawValue) after \(after(call.endedAt)), before anybody answered"
        }
    }

    /// The end of the sentence on a single device; nil where the end reason says all.
    private var unansweredEnd: String? {
        switch call.reason {
        case .ringTimeout: "the call rang out after \(after(call.endedAt))"
        case .noDevices: "there is no other device, and the call ended after \(after(call.endedAt))"
        case .cancelled: "\(endedBy ?? caller) gave up after \(after(call.endedAt))"
        case .admin: "an administrator ended the call after \(after(call.endedAt))"
        case .hangup, .declined, .busy, .connectTimeout, .answeredElsewhere, .declinedElsewhere, .unknownCallee, .glare,
            .iceFailed, .mediaFailed, .connectionLost, .forbidden, .maxDuration, nil:
            nil
        }
    }

    // MARK: What to do

    private func advice(_ told: [DeviceStory]) -> [String] {
        guard let device = told.first(where: { $0.advice != nil }), let advice = device.advice else { return [] }
        return [advice]
    }

    /// Starts with a capital, unless the first word is a handle.
    private func sentence(_ text: String) -> String {
        let handles = [caller, callee, target, winner, endedBy].compactMap(\.self) + devices.map(\.leg.user.text.shown)
        let isHandle = handles.contains { text.hasPrefix($0) }
        return (isHandle ? text : text.prefix(1).uppercased() + text.dropFirst()) + "."
    }
}

extension ServerProblem {
    /// Why pushes to the provider wait; nil for a problem that delays none.
    fileprivate var reasonOfDelay: String? {
        guard let subject else { return nil }
        let reasons: [Code: String] = [
            .pushDisconnected: "no connection to \(subject)", .pushQueueOld: "\(subject) takes pushes too slowly",
            .credentialRefused: "\(subject) refuses the credential", .tokensRefused: "\(subject) refuses the tokens",
            .certificateExpired: "the certificate for \(subject) has expired",
        ]
        return reasons[code]?.shown
    }

    /// Whether the push goes to the provider of the problem, in its environment and with its credential.
    fileprivate func delays(_ push: PushView) -> Bool {
        let token = push.token
        guard let subject, reasonOfDelay != nil, topics?.contains(token.topic) ?? true else { return false }
        switch token.provider {
        case .apns: return subject == "APNs \(token.environment.rawValue)"
        case .fcm: return subject == "FCM \(token.topic)"
        case .webpush:
            // The subject is a host, or a pattern as *.example; the token's text begins with its host.
            let host = token.token.prefix { $0 != " " }
            let other = subject.dropFirst("Web Push ".count)
            return subject.hasPrefix("Web Push ")
                && (other.hasPrefix("*") ? host.hasSuffix(other.dropFirst()) : host == other)
        }
    }
}

extension CallDetail {
    /// The end of the call, or now; of a call that was open when its server stopped, the last that is known of it.
    var over: Instant {
        if let end = call.endedAt?.instant { return end }
        guard Console.current.isServerDown else { return Moment.now }
        return timeline.map(\.at.instant).max() ?? call.createdAt.instant
    }

    /// Short ids of the call's devices.
    var deviceIDs: ShortIDs {
        ShortIDs(
            legs.map(\.deviceID) + timeline.compactMap(\.deviceID)
                + [call.fromDeviceID, call.answeredByDeviceID, call.endedByDeviceID].compactMap(\.self))
    }
}
