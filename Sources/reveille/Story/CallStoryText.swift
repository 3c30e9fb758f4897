import AdminProtocol
import CallCore
import CallVocabulary

/// The page that `calls show` prints.
enum CallStoryText {
    /// - Parameter problems: those of the server.
    static func lines(_ detail: CallDetail, _ problems: [ServerProblem] = []) -> [String] {
        var lines = [Terminal.bold("call \(detail.call.callID)")]
        lines += facts(detail).map { "  " + $0 }
        lines.append("")
        for line in CallStory(detail, problems).lines { lines += line.wrapped(to: Console.current.width) }
        if !detail.legs.isEmpty { lines += [""] + devices(detail).lines }
        return lines + [""] + timeline(detail.timeline, ids: detail.deviceIDs).lines
    }

    private static func facts(_ detail: CallDetail) -> [String] {
        let call = detail.call
        let from =
            PartyText.name(call.from, call.fromDeviceID, ids: detail.deviceIDs)
            + (call.fromName.map { " “\($0.shown)”" } ?? "")
        var facts = [
            ("from", from), ("to", PartyText.name(call.to.target) + (call.video ? ", with video" : "")),
            ("began", Moment.full(call.createdAt.instant, isOpen: call.endedAt == nil)),
        ]
        if let at = call.endedAt, let reason = call.reason {
            facts.append(
                ("ended", "\(Moment.text(at.instant)), \(Terminal.styled(reason.rawValue, CallText.style(reason)))"))
        } else {
            facts.append(("state", Terminal.styled(call.state.rawValue, CallText.style(call.state))))
        }
        let over = detail.over
        // A time that went on when the server stopped has no length.
        let isOpen = call.endedAt == nil && Console.current.isServerDown
        if let at = call.ringingAt, !isOpen || call.answeredAt != nil {
            let word = call.answeredAt == nil && call.endedAt == nil ? "rings" : "rang"
            facts.append((word, Moment.length((call.answeredAt?.instant ?? over) - at.instant)))
        }
        if let at = call.connectedAt, !isOpen || call.lostAt != nil {
            facts.append(("talked", Moment.length((call.lostAt?.instant ?? over) - at.instant)))
        }
        if let other = call.mergedInto { facts.append(("goes on as", other.description)) }
        let width = facts.map(\.0.columns).max() ?? 0
        return facts.map { "\(Terminal.dim($0.0.padded(to: width)))  \($0.1)" }
    }

    // MARK: Devices

    private static func devices(_ detail: CallDetail) -> Table {
        let ids = detail.deviceIDs
        let columns: [Table.Column] = [
            "DEVICE", "STATE", "PUSH", "REPORT", Table.Column("RINGS AFTER", sacrifice: 2, isRight: true),
            Table.Column("REASON", sacrifice: 1, least: 12),
        ]
        return Table(columns, of: detail.legs) { leg in
            let push = detail.pushes.first { $0.pushID == leg.pushID }
            let rings = leg.ringingAt.map { Moment.length($0.instant - detail.call.createdAt.instant) }
            return [
                Table.Cell(PartyText.name(leg.user, leg.deviceID, ids: ids)),
                Table.Cell(leg.answeredAt == nil ? leg.state : "answered"),
                Table.Cell(push?.status.rawValue ?? "-", push.map { PushText.style($0.status) } ?? .plain),
                Table.Cell(push?.report?.rawValue ?? "-", PushText.style(push?.report)), Table.Cell(rings ?? "-"),
                Table.Cell(leg.reason?.rawValue ?? ""),
            ]
        }
    }

    // MARK: Timeline

    static func timeline(_ entries: [TimelineEntryView], ids: ShortIDs) -> Table {
        var table = Table([
            Table.Column("SINCE INVITE", isRight: true), Table.Column("STEP", sacrifice: 2, isRight: true),
            Table.Column("WHO"), Table.Column("WHAT", least: 20),
        ])
        var previous: Int64 = 0
        for entry in entries {
            let step = entry.offsetMilliseconds - previous
            previous = entry.offsetMilliseconds
            let known = CallTimeline.Step(rawValue: entry.step)
            table.add([
                Table.Cell(Moment.exact(milliseconds: entry.offsetMilliseconds)),
                Table.Cell(step > 0 ? "+" + Moment.exact(milliseconds: step) : "", .dim),
                Table.Cell(entry.user.map { PartyText.name($0, entry.deviceID, ids: ids) } ?? ""),
                Table.Cell(what(entry, known), known.map(style) ?? .plain),
            ])
        }
        return table
    }

    private static func what(_ entry: TimelineEntryView, _ step: CallTimeline.Step?) -> String {
        if step == .pushReported, let report = entry.detail.flatMap({ ReportStatus(rawValue: $0) }) {
            return words(report)
        }
        return (step.map(words) ?? entry.step) + (entry.detail.map { " (\($0))" } ?? "")
    }

    /// A push's report that is not plainly `reported`.
    private static func words(_ report: ReportStatus) -> String {
        switch report {
        case .notRequired: "push reported: the call did not have to be shown"
        case .filtered: "push reported: the system shows nothing"
        case .reportFailed: "push reported: the call could not be shown"
        case .reportedLate: "push reported too late"
        case .reported, .awaited, .acted, .unreported: "push reported to the user"
        }
    }

    static func words(_ step: CallTimeline.Step) -> String {
        switch step {
        case .invited: "invited"
        case .forwarded: "forwarded"
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
        case .pushActed: "phone acted after the push, and did not report it"
        case .pushUnreported: "push never reported"
        case .ringing: "ringing"
        case .answered: "answered"
        case .callerConnected: "caller has media"
        case .calleeConnected: "callee has media"
        case .connected: "connected"
        case .connectionLost: "connection lost"
        case .cameBack: "came back"
        case .legEnded: "left the call"
        case .ended: "ended"
        }
    }

    private static func style(_ step: CallTimeline.Step) -> TextStyle {
        switch step {
        case .pushRejected, .pushUnreported: .red
        case .pushUnknown, .pushExpired, .connectionLost: .yellow
        case .answered, .connected: .green
        case .ended: .bold
        case .invited, .forwarded, .pushIntended, .pushSent, .pushAccepted, .pushCancelled, .woken, .offered,
            .pushReported,
            .pushActed, .ringing, .callerConnected, .calleeConnected, .cameBack, .legEnded:
            .plain
        }
    }
}
