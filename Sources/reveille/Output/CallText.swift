import AdminProtocol
import CallVocabulary

/// Calls as text.
enum CallText {
    static func table(_ calls: [CallView]) -> Table {
        Table(
            [
                Table.Column("CALL", isID: true), Table.Column("FROM"), Table.Column("TO"), Table.Column("STATE"),
                Table.Column("REASON", least: 18), Table.Column("LASTED", sacrifice: 2, isRight: true),
                Table.Column("CREATED", sacrifice: 1, least: 19), Table.Column("AGO", sacrifice: 3, isRight: true),
            ], of: calls
        ) { call in
            [
                Table.Cell(call.callID.description), Table.Cell(call.from.text),
                Table.Cell(PartyText.name(call.to.target)),
                Table.Cell(call.state.rawValue, style(call.state)),
                Table.Cell(call.reason?.rawValue ?? "", style(call.reason)), Table.Cell(lasted(call)),
                Table.Cell(Moment.text(call.createdAt.instant)),
                Table.Cell(Moment.age(call.createdAt.instant, isOpen: call.endedAt == nil), .dim),
            ]
        }
    }

    /// One call, to choose from several.
    static func line(_ call: CallView) -> String {
        "\(call.callID)  \(call.from.text.shown) → \(PartyText.name(call.to.target))  "
            + "\(Moment.text(call.createdAt.instant))  \(call.reason?.rawValue ?? call.state.rawValue)"
    }

    /// From the invite to the end, or until now.
    private static func lasted(_ call: CallView) -> String {
        guard call.endedAt != nil || !Console.current.isServerDown else { return "-" }
        return Moment.length((call.endedAt?.instant ?? Moment.now) - call.createdAt.instant)
    }

    static func style(_ state: CallState) -> TextStyle {
        switch state {
        case .routing, .waking, .ringing: .yellow
        case .answered, .connected: .green
        case .ended: .plain
        }
    }

    static func style(_ reason: EndReason?) -> TextStyle {
        switch reason?.weight {
        case .failure: .red
        case .suspect: .yellow
        case .usual, nil: .plain
        }
    }
}

extension EndReason {
    /// How much an operator should care about a call that ended so.
    enum Weight {
        case usual, suspect, failure
    }

    var weight: Weight {
        switch self {
        case .connectTimeout, .iceFailed, .mediaFailed, .connectionLost: .failure
        case .ringTimeout, .noDevices, .unknownCallee, .forbidden, .admin: .suspect
        case .hangup, .declined, .cancelled, .busy, .answeredElsewhere, .declinedElsewhere, .glare, .maxDuration: .usual
        }
    }

    /// The service failed, not a user.
    var isFailure: Bool { weight == .failure }
}
