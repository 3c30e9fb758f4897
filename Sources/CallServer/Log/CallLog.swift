import CallCore
import CallMonitor
import CallVocabulary
import Logging

/// Writes a line for each step that a call, a leg, a push or a device has taken.
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
/// `ms` counts from the call's invite, the leg's beginning, or the push's intention. Nothing is made of a line whose level
/// is off. Any thread.
struct CallLog: Sendable {
    /// Users of a list that are named.
    private static let mostNames = 5

    private let log: Logger

    init(log: Logger) {
        self.log = log
    }

    func write(_ transition: Transition) {
        switch transition {
        case .call(let call, let was): write(call, was)
        case .leg(let leg, let was): write(leg, was)
        case .push(let push, let was): write(push, was)
        case .deviceSuspended(let device): write("device suspended", device)
        case .deviceResumed(let device): write("device resumed", device)
        }
    }

    // MARK: Calls and legs

    private func write(_ call: CallRecord, _ was: CallState?) {
        guard log.logLevel <= .info else { return }
        // Room for all of them, so that it does not grow.
        var line = Logger.Metadata(minimumCapacity: 12)
        line["call_id"] = .string(call.id.description)
        line["from"] = .string(call.caller.user.text)
        line["to"] = .string(Self.name(call.to))
        line["was"] = (was?.rawValue).map { .string($0) }
        line.set("ms", call.time(of: call.state), since: call.createdAt)
        switch call.state {
        case .routing: if call.video { line["video"] = .stringConvertible(true) }
        case .waking, .ringing, .connected: break
        case .answered: line["by"] = call.answeredBy.map { .string(Self.name($0)) }
        case .ended:
            line["reason"] = call.endReason.map { .string($0.rawValue) }
            line["by"] = call.endedBy.map { .string(Self.name($0)) }
            line["answered_by"] = call.answeredBy.map { .string(Self.name($0)) }
            line.set("ring_ms", call.answeredAt ?? call.endedAt, since: call.ringingAt)
            line.set("talk_ms", call.endedAt, since: call.connectedAt)
            line["merged_into"] = call.mergedInto.map { "\($0)" }
        }
        log.info("call \(call.state.rawValue)", metadata: line)
    }

    private func write(_ leg: LegRecord, _ was: LegRecord.State?) {
        guard log.logLevel <= .debug else { return }
        var line: Logger.Metadata = [
            "call_id": "\(leg.call)", "user": "\(leg.device.user)", "device_id": "\(leg.device.device)",
        ]
        line["was"] = was.map { "\($0.rawValue)" }
        line["reason"] = leg.endReason.map { "\($0.rawValue)" }
        line.set("ms", leg.time(of: leg.state), since: leg.createdAt)
        log.debug("leg \(leg.state.rawValue)", metadata: line)
    }

    // MARK: Pushes and devices

    private func write(_ push: PushRecord, _ was: PushStanding?) {
        let hasNewStatus = push.status != was?.status
        // Where it is sent there is nothing to say of a report yet.
        let report = push.report == was?.report || push.status == .sent && hasNewStatus ? nil : push.report
        let level = max(hasNewStatus ? Self.level(of: push.status) : .debug, report.map(Self.level) ?? .debug)
        guard log.logLevel <= level, hasNewStatus || report != nil else { return }
        var words = hasNewStatus ? [push.status.rawValue] : []
        if let report, report != .awaited { words.append(report.rawValue) }
        guard !words.isEmpty else { return }
        var line: Logger.Metadata = [
            "push_id": "\(push.id)", "call_id": "\(push.call)", "user": "\(push.device.user)",
            "device_id": "\(push.device.device)", "kind": "\(push.delivery?.rawValue ?? "none")",
        ]
        if push.purpose != .call { line["purpose"] = "\(push.purpose.rawValue)" }
        line["reason"] = push.reason.map { "\($0)" }
        line["report_error"] = push.reportError.map { "\($0)" }
        line.set("ms", report == nil ? push.answeredAt ?? push.sentAt : push.reportedAt, since: push.intendedAt)
        log.log(
            level: level, "push \(words.joined(separator: ", ").replacing("_", with: " "))", metadata: line)
    }

    private func write(_ message: Logger.Message, _ device: DeviceRecord) {
        log.notice(
            message,
            metadata: [
                "user": "\(device.key.user)", "device_id": "\(device.key.device)",
                "platform": "\(device.platform.rawValue)", "unreported": .stringConvertible(device.unreportedStreak),
            ])
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
        case .awaited, .reported, .notRequired, .filtered: .debug
        case .reportedLate: .notice
        case .reportFailed, .unreported: .warning
        }
    }

    // MARK: Names

    private static func name(_ party: Party) -> String {
        party.device.map { "\(party.user)/\($0)" } ?? party.user.text
    }

    private static func name(_ target: CallTarget) -> String {
        switch target {
        case .user(let user): return user.text
        case .group(let name): return "group \(name)"
        case .users(let users):
            let names = users.prefix(mostNames).map(\.text).joined(separator: ", ")
            return users.count > mostNames ? "\(names) and \(users.count - mostNames) more" : names
        }
    }
}

extension CallRecord {
    /// When it came to this state, where that is kept.
    fileprivate func time(of state: CallState) -> Instant? {
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
    fileprivate func time(of state: State) -> Instant? {
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

extension Logger.Metadata {
    /// Whole milliseconds between the two, if there are both.
    fileprivate mutating func set(_ key: String, _ end: Instant?, since start: Instant?) {
        if let end, let start { self[key] = .stringConvertible((end - start).wholeMilliseconds) }
    }
}
