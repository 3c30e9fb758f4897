import AdminProtocol
import CallVocabulary

/// Sessions for people to read.
enum SessionText {
    static func table(_ sessions: [SessionView]) -> Table {
        Table(
            [
                Table.Column("USER"), Table.Column("DEVICE", isID: true), Table.Column("STATE"),
                Table.Column("SINCE", least: 6, isRight: true), Table.Column("PLATFORM", sacrifice: 4),
                Table.Column("APP", sacrifice: 5),
                Table.Column("ADDRESS", sacrifice: 3), Table.Column("OPENED", sacrifice: 6, least: 19),
                Table.Column("WOKEN FOR", sacrifice: 2, isID: true),
            ], of: sessions
        ) { session in
            [
                Table.Cell(session.user.text), Table.Cell(session.deviceID.description),
                Table.Cell(session.state.rawValue, session.state == .away ? .yellow : .plain),
                Table.Cell(Moment.coarse(Moment.now - session.since.instant)), Table.Cell(session.platform.rawValue),
                Table.Cell(session.app ?? ""), Table.Cell(session.address ?? ""),
                Table.Cell(Moment.text(session.openedAt.instant)), Table.Cell(session.wakeCallID?.description ?? ""),
            ]
        }
    }

    /// One session, to choose from several.
    static func line(_ session: SessionView) -> String {
        "\(session.deviceID)  \(session.state.rawValue)  \(session.platform.rawValue)  "
            + "opened \(Moment.text(session.openedAt.instant))"
    }
}
