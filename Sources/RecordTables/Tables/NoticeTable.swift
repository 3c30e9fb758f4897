import CallCore
import CallVocabulary
import StoreInterface

/// Pushes about missed calls.
package enum NoticeTable {
    /// Selects open notices, with the data of their calls that they contain.
    package static let selectOpen = """
        SELECT \(PushTable.layout.columns.map { "push.\($0)" }.joined(separator: ", ")),
            call.caller_user, call.caller_name, call.video
        FROM push JOIN call ON call.serial = push.call_serial WHERE \(PushTable.isOpen) AND purpose <> 'call'
        ORDER BY push.intended_at, push.serial
        """

    package static func readOpen(_ row: some StatementRow) throws(StoreFailure) -> RecoveredState.Notice {
        RecoveredState.Notice(
            push: try PushTable.read(row), from: try row.handle(), fromName: row.optionalText(), video: row.flag())
    }

    package static func readSentSync(
        _ row: some StatementRow
    ) throws(StoreFailure) -> (user: Handle, sync: DirectoryEntry.SentSync) {
        (
            user: try row.handle(),
            sync: DirectoryEntry.SentSync(device: try row.identifier(), sentAt: try row.instant())
        )
    }
}
