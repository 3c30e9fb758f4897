import CallCore
import CallMonitor
import CallVocabulary

/// The steps of a call for people: `alice → bob ringing +36 ms [ca82862d]`. The time counts from the call's invite, the
/// start of the leg, or the push's intent; the abbreviated call id is in brackets.
enum CallSentences {
    /// - Parameter administrator: the administrator who ended the call, if one did.
    static func text(_ call: CallRecord, administrator: String?) -> String {
        var words = ["\(call.caller.user) → \(name(call.to))", call.state.rawValue]
        switch call.state {
        case .routing: if call.video { words.append("(video)") }
        case .waking, .ringing, .connected: break
        case .answered: if let by = call.answeredBy { words.append("by \(party(by))") }
        case .ended: words.append("(\(end(of: call, administrator)))")
        }
        words.append(contentsOf: time(call.time(of: call.state), since: call.createdAt))
        return words.joined(separator: " ") + id(call.id)
    }

    static func text(_ leg: LegRecord) -> String {
        var words = [party(Party(user: leg.device.user, device: leg.device.device)), leg.state.rawValue]
        if leg.state == .ended, let reason = leg.endReason { words.append("(\(reason.rawValue))") }
        words.append(contentsOf: time(leg.time(of: leg.state), since: leg.createdAt))
        return words.joined(separator: " ") + id(leg.call)
    }

    /// - Parameters:
    ///   - steps: the new status: `rejected`.
    ///   - at: the time of the step; nil when it is not recorded.
    static func text(_ push: PushRecord, _ steps: String, at: Instant?) -> String {
        let what = push.purpose == .call ? "push" : "push of \(push.purpose.rawValue)"
        var words = ["\(what) to \(party(Party(user: push.device.user, device: push.device.device)))", steps]
        let reasons = [push.reason, push.reportError].compactMap(\.self)
        if !reasons.isEmpty { words.append("(\(reasons.joined(separator: ", ")))") }
        words.append(contentsOf: time(at, since: push.intendedAt))
        return words.joined(separator: " ") + id(push.call)
    }

    // MARK: Parts

    private static func end(of call: CallRecord, _ administrator: String?) -> String {
        var words = [call.endReason?.rawValue ?? "unknown"]
        if let by = administrator ?? call.endedBy.map(party) { words[0] += " by \(by)" }
        if let winner = call.mergedInto { words.append("merged into" + id(winner)) }
        if let rang = call.ringingAt, let until = call.answeredAt ?? call.endedAt {
            words.append("rang \(duration(until - rang))")
        }
        if let began = call.connectedAt, let until = call.talkEndedAt {
            words.append("talked \(duration(until - began))")
        }
        return words.joined(separator: ", ")
    }

    private static func party(_ party: Party) -> String {
        guard let device = party.device else { return party.user.text }
        return "\(party.user)/\(short(device))"
    }

    private static func time(_ end: Instant?, since start: Instant) -> [String] {
        end.map { ["+\(duration($0 - start))"] } ?? []
    }

    /// Rounded to milliseconds; from ten seconds on to tenths of a second.
    private static func duration(_ duration: Duration) -> String {
        let milliseconds = duration.wholeMilliseconds
        return milliseconds < 10_000
            ? "\(milliseconds) ms" : "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s"
    }

    private static func id(_ call: CallID) -> String { " [\(short(call))]" }

    private static func short<Subject>(_ id: Identifier<Subject>) -> String {
        let text = id.description
        return ShortIDs(CollectionOfOne(text))[text]
    }

    /// The most users of a list that are named.
    private static let mostNames = 5

    static func name(_ target: CallTarget) -> String {
        switch target {
        case .user(let user): return user.text
        case .group(let name): return "group \(name)"
        case .users(let users):
            let names = users.prefix(mostNames).map(\.text).joined(separator: ", ")
            return users.count > mostNames ? "\(names) and \(users.count - mostNames) more" : names
        }
    }
}
