import CallCore
import CallMonitor
import CallVocabulary
import Logging
import ServerLog

/// Logs each step of a call, a leg, a push or a device: in text logs as ``CallSentences``, for people; in JSON logs as
///
/// | line | level |
/// |---|---|
/// | `call STATE` | info |
/// | `leg STATE` | debug |
/// | `push intended`, `sent`, `accepted`, `cancelled`, `reported`, `not required`, `filtered` | debug |
/// | `push expired`, `reported late` | notice |
/// | `push rejected`, `unknown`, `unreported`, `report failed` | warning |
/// | `device suspended`, `device resumed` | notice |
///
/// The last line of a call that an administrator ended names the administrator in `admin`. `ms` counts from the call's
/// invite, the start of the leg, or the push's intent. Lines below the log level cost nothing. Fields are added in the
/// order of their keys. Confined to one thread.
struct CallLog {
    private let sheet: LineSheet

    init(log: Logger) {
        sheet = LineSheet(log)
    }

    /// Passes on the lines written since the last flush.
    func flush() { sheet.flush() }

    /// - Parameter administrator: returns the administrator who ended a call; called once, for a call whose reason is
    ///   `admin`.
    func write(_ transition: Transition, administrator: (CallID) -> String? = { _ in nil }) {
        switch transition {
        case .call(let call, let was): write(call, was, administrator)
        case .leg(let leg, let was): write(leg, was)
        case .push(let push, let was): write(push, was)
        case .deviceSuspended(let device): write("device suspended", device)
        case .deviceResumed(let device): write("device resumed", device)
        }
    }

    // MARK: Calls and legs

    private func write(_ call: CallRecord, _ was: CallState?, _ administrator: (CallID) -> String?) {
        let admin = call.state == .ended && call.endReason == .admin ? administrator(call.id) : nil
        guard sheet.writes(.info) else { return }
        if sheet.isForPeople { return sheet.write(.info, CallSentences.text(call, administrator: admin)) }
        sheet.begin(.info, Self.message(call.state))
        if let admin { sheet.add("admin", admin) }
        if call.state == .ended { sheet.add("answered_by", call.answeredBy) }
        switch call.state {
        case .routing, .waking, .ringing, .connected: break
        case .answered: sheet.add("by", call.answeredBy)
        case .ended: sheet.add("by", call.endedBy)
        }
        sheet.add("call_id", call.id)
        sheet.add("from", call.caller.user.text)
        if call.state == .ended, let winner = call.mergedInto { sheet.add("merged_into", winner) }
        sheet.add("ms", call.time(of: call.state), since: call.createdAt)
        if call.state == .ended {
            if let reason = call.endReason { sheet.add("reason", reason.rawValue) }
            sheet.add("ring_ms", call.answeredAt ?? call.endedAt, since: call.ringingAt)
            sheet.add("talk_ms", call.talkEndedAt, since: call.connectedAt)
        }
        sheet.add("to", CallSentences.name(call.to))
        if call.state == .routing, call.video { sheet.add("video", true) }
        if let was { sheet.add("was", was.rawValue) }
        sheet.end()
    }

    /// `call STATE`, without allocating a string for each line.
    private static func message(_ state: CallState) -> String {
        switch state {
        case .routing: "call routing"
        case .waking: "call waking"
        case .ringing: "call ringing"
        case .answered: "call answered"
        case .connected: "call connected"
        case .ended: "call ended"
        }
    }

    private func write(_ leg: LegRecord, _ was: LegRecord.State?) {
        guard sheet.writes(.debug) else { return }
        if sheet.isForPeople { return sheet.write(.debug, CallSentences.text(leg)) }
        sheet.begin(.debug, "leg \(leg.state.rawValue)")
        sheet.add("call_id", leg.call)
        sheet.add("device_id", leg.device.device)
        sheet.add("ms", leg.time(of: leg.state), since: leg.createdAt)
        if leg.state == .ended, let reason = leg.endReason { sheet.add("reason", reason.rawValue) }
        sheet.add("user", leg.device.user.text)
        if let was { sheet.add("was", was.rawValue) }
        sheet.end()
    }

    // MARK: Pushes and devices

    private func write(_ push: PushRecord, _ was: PushStanding?) {
        let hasNewStatus = push.status != was?.status
        // A push that was just sent has no report to log yet.
        let report = push.report == was?.report || push.status == .sent && hasNewStatus ? nil : push.report
        let level = max(hasNewStatus ? Self.level(of: push.status) : .debug, report.map(Self.level) ?? .debug)
        guard sheet.writes(level), hasNewStatus || report != nil else { return }
        var words = hasNewStatus ? [push.status.rawValue] : []
        if let report, report != .awaited { words.append(report.rawValue) }
        guard !words.isEmpty else { return }
        let steps = words.joined(separator: ", ").replacing("_", with: " ")
        let time = report == nil ? push.answeredAt ?? push.sentAt : push.reportedAt
        if sheet.isForPeople { return sheet.write(level, CallSentences.text(push, steps, at: time)) }
        sheet.begin(level, "push \(steps)")
        sheet.add("call_id", push.call)
        sheet.add("device_id", push.device.device)
        sheet.add("kind", push.delivery?.rawValue ?? "none")
        sheet.add("ms", time, since: push.intendedAt)
        if push.purpose != .call { sheet.add("purpose", push.purpose.rawValue) }
        sheet.add("push_id", push.id)
        if let reason = push.reason { sheet.add("reason", reason) }
        if let error = push.reportError { sheet.add("report_error", error) }
        sheet.add("user", push.device.user.text)
        sheet.end()
    }

    private func write(_ message: String, _ device: DeviceRecord) {
        guard sheet.writes(.notice) else { return }
        sheet.begin(.notice, message)
        sheet.add("device_id", device.key.device)
        sheet.add("platform", device.platform.rawValue)
        sheet.add("unreported", Int64(device.unreportedStreak))
        sheet.add("user", device.key.user.text)
        sheet.end()
    }

    private static func level(of status: ProviderStatus) -> Logger.Level {
        switch status {
        case .intended, .sent, .accepted, .cancelled: .debug
        case .expired: .notice
        case .rejected, .unknown: .warning
        }
    }

    private static func level(of report: ReportStatus) -> Logger.Level {
        switch report {
        case .awaited, .reported, .notRequired, .filtered, .acted: .debug
        case .reportedLate: .notice
        case .reportFailed, .unreported: .warning
        }
    }
}

extension CallRecord {
    /// When the call reached the state, if that is recorded.
    func time(of state: CallState) -> Instant? {
        switch state {
        case .routing: createdAt
        case .waking: nil
        case .ringing: ringingAt
        case .answered: answeredAt
        case .connected: connectedAt
        case .ended: endedAt
        }
    }
}

extension LegRecord {
    func time(of state: State) -> Instant? {
        switch state {
        case .idle: createdAt
        case .offered: offeredAt
        case .waking: nil
        case .ringing: ringingAt
        case .answered: answeredAt
        case .ended: endedAt
        }
    }
}

extension LineSheet {
    /// The user, and the device where it is known.
    fileprivate func add(_ key: String, _ party: Party?) {
        guard let party else { return }
        var user = party.user.text
        guard let device = party.device else { return add(key, user) }
        let isWritten = user.withUTF8 { user in
            guard user.allSatisfy(Self.isPlain) else { return false }
            add(key, plain: user.count + 1 + 36) { text in
                text.copyMemory(from: UnsafeRawBufferPointer(user))
                text[user.count] = UInt8(ascii: "/")
                device.write(into: UnsafeMutableRawBufferPointer(rebasing: text[(user.count + 1)...]))
            }
            return true
        }
        if !isWritten { add(key, "\(party.user)/\(device)") }
    }

    /// Whether the byte needs no escape in a text. Nearly all user names consist of these.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
            UInt8(ascii: "."):
            true
        default: false
        }
    }

    /// Adds the whole milliseconds between two times; nothing if one is missing.
    fileprivate func add(_ key: String, _ end: Instant?, since start: Instant?) {
        if let end, let start { add(key, (end - start).wholeMilliseconds) }
    }
}
