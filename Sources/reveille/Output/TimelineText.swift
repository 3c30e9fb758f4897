import CallCore
import CallVocabulary

/// A call's timeline for people: the offset from the invite, the step, who, and why.
enum TimelineText {
    static func lines(_ timeline: CallTimeline, from start: Instant) -> [String] {
        var previous = start
        return timeline.entries.map { entry in
            let offset = seconds(entry.at - start)
            let step = "+" + seconds(entry.at - previous)
            previous = entry.at
            var line = "\(pad(offset, 9))  \(pad(step, 9))  \(describe(entry.step))"
            if let by = entry.by { line += "  \(name(by))" }
            if let detail = entry.detail { line += "  (\(detail))" }
            return line
        }
    }

    private static func describe(_ step: CallTimeline.Step) -> String {
        switch step {
        case .invited: "invited"
        case .pushIntended: "push on disk"
        case .pushSent: "push sent"
        case .pushAccepted: "push accepted by the provider"
        case .pushRejected: "push rejected by the provider"
        case .pushUnknown: "push outcome unknown"
        case .pushCancelled: "push cancelled before it was sent"
        case .pushExpired: "push expired before it was sent"
        case .woken: "phone woken"
        case .offered: "told over its socket"
        case .pushReported: "push reported to the user"
        case .pushUnreported: "push never reported"
        case .ringing: "ringing"
        case .answered: "answered"
        case .callerConnected: "caller has media"
        case .calleeConnected: "callee has media"
        case .connected: "connected"
        case .legEnded: "left the call"
        case .ended: "ended"
        }
    }

    static func name(_ party: Party) -> String {
        party.device.map { "\(party.user)/\($0.description.prefix(8))" } ?? party.user.text
    }

    static func name(_ target: CallTarget) -> String {
        switch target {
        case .user(let handle): handle.text
        case .users(let handles): handles.map(\.text).joined(separator: ", ")
        case .group(let name): "group \(name)"
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        let milliseconds = duration.wholeMilliseconds
        let fraction = String(1000 + milliseconds % 1000).dropFirst()
        return "\(milliseconds / 1000).\(fraction) s"
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
