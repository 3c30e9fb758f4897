import AdminProtocol
import CallVocabulary
import PushCore
import PushVocabulary

/// Pushes as text.
enum PushText {
    static func table(_ pushes: [PushView]) -> Table {
        Table(
            [
                Table.Column("PUSH", isID: true), Table.Column("PURPOSE", sacrifice: 3),
                Table.Column("KIND", sacrifice: 4), Table.Column("CALL", sacrifice: 2, isID: true), Table.Column("TO"),
                Table.Column("PROVIDER"), Table.Column("REPORT"), Table.Column("REASON", least: 12),
                Table.Column("INTENDED", sacrifice: 5, least: 19), Table.Column("AGO", sacrifice: 6, isRight: true),
            ], of: pushes
        ) { push in
            [
                Table.Cell(push.pushID.description), Table.Cell(push.purpose.rawValue), Table.Cell(kind(push)),
                Table.Cell(push.callID.description), Table.Cell(push.user.text),
                Table.Cell(push.status.rawValue, style(push.status)),
                Table.Cell(push.report?.rawValue ?? "-", style(push.report)), Table.Cell(push.reason ?? ""),
                Table.Cell(Moment.text(push.intendedAt.instant)),
                Table.Cell(Moment.age(push.intendedAt.instant, isOpen: push.isOpen), .dim),
            ]
        }
    }

    /// One push, to choose from several.
    static func line(_ push: PushView) -> String {
        "\(push.pushID)  \(push.purpose.rawValue)  to \(PartyText.name(push.user, push.deviceID))  "
            + "\(Moment.text(push.intendedAt.instant))  \(push.status.rawValue)"
    }

    /// The provider and kind of the push.
    static func kind(_ push: PushView) -> String {
        push.delivery?.rawValue ?? "\(push.token.provider.rawValue)/\(push.token.kind.rawValue)"
    }

    static func token(_ token: TokenView) -> String {
        // The VAPID key is the same for all, and long.
        token.provider == .webpush
            ? "\(token.provider.rawValue) \(token.token)"
            : "\(token.provider.rawValue)/\(token.kind.rawValue)/\(token.environment.rawValue) \(token.topic) "
                + token.token
    }

    /// The ledger entry; the token is shortened.
    static func details(_ push: PushView) -> [String] {
        var table = Table([Table.Column("PUSH"), Table.Column(push.pushID.description, least: 36)])
        func add(_ name: String, _ time: Timestamp?) {
            if let time { table.add([name, Moment.full(time.instant, isOpen: push.isOpen)]) }
        }
        table.add(["purpose", push.purpose.rawValue])
        table.add(["kind", kind(push)])
        table.add(["call", push.callID.description])
        table.add(["to", push.user.text])
        table.add(["device", push.deviceID.description])
        table.add(["token", token(push.token)])
        table.add(["provider", Table.Cell(provider(push), style(push.status))])
        if let reason = push.reason { table.add(["reason", reason]) }
        table.add(["report", Table.Cell(push.report?.rawValue ?? "-", style(push.report))])
        if let error = push.reportError { table.add(["report error", error]) }
        add("intended", push.intendedAt)
        add("sent", push.sentAt)
        let isAnswered = push.status == .accepted || push.status == .rejected
        add(isAnswered ? "answered" : "given up", push.answeredAt)
        add("report due", push.reportDueAt)
        add(reportTime(push.report), push.reportedAt)
        add("expires", push.expiresAt)
        return table.lines(width: nil) + diagnosis(push)
    }

    /// The meaning of the report's time.
    private static func reportTime(_ report: ReportStatus?) -> String {
        switch report {
        case .unreported: "report given up"
        case .acted: "acted"
        case .awaited, .reported, .notRequired, .filtered, .reportFailed, .reportedLate, nil: "reported"
        }
    }

    /// Accepted without an answer time: the device's report proves that the provider accepted the push.
    private static func provider(_ push: PushView) -> String {
        push.status == .accepted && push.answeredAt == nil
            ? "accepted, as the device proved; the provider did not say so" : push.status.rawValue
    }

    /// The meaning of a rejection, and advice.
    static func diagnosis(_ push: PushView) -> [String] {
        guard push.status == .rejected, let reason = push.reason else { return [] }
        let diagnosis = PushDiagnosis(.rejected(reason: reason, isTokenDead: false), delivery: push.delivery)
        let lines = [diagnosis.meaning.shown] + diagnosis.advice.map { "- \($0.shown)" }
        return [""] + lines.flatMap { $0.wrapped(to: Console.current.width) }
    }

    static func style(_ status: ProviderStatus) -> TextStyle {
        switch status {
        case .rejected: .red
        case .unknown, .expired: .yellow
        case .intended, .sent, .accepted, .cancelled: .plain
        }
    }

    static func style(_ report: ReportStatus?) -> TextStyle {
        switch report {
        case .unreported, .reportFailed: .red
        case .reportedLate: .yellow
        case .awaited, .reported, .notRequired, .filtered, .acted, nil: .plain
        }
    }
}

extension PushView {
    /// Whether its outcome is open: it is not sent, not answered, or its report is awaited.
    fileprivate var isOpen: Bool { status == .intended || status == .sent || report == .awaited }
}
