import CallCore
import CallVocabulary
import StoreInterface

/// Pushes about missed calls.
enum NoticeTable {
    /// Selects open notices, with the data of their calls that they contain.
    static let selectOpen = """
        SELECT \(PushTable.layout.columns.map { "push.\($0)" }.joined(separator: ", ")),
            call.caller_user, call.caller_name, call.video
        FROM push JOIN call ON call.serial = push.call_serial WHERE \(PushTable.isOpen) AND purpose <> 'call'
        ORDER BY push.intended_at, push.serial
        """

    /// Selects a user's latest background pushes, more than a few devices may get in an hour.
    static let selectSentSyncs = """
        SELECT device, sent_at FROM (
            SELECT device, sent_at FROM push WHERE purpose = 'sync' AND user = ? AND sent_at IS NOT NULL
            ORDER BY intended_at DESC LIMIT 200
        ) ORDER BY sent_at
        """

    static func readOpen(_ row: SQLRow) throws(StoreFailure) -> RecoveredState.Notice {
        RecoveredState.Notice(
            push: try PushTable.read(row), from: try row.handle(), fromName: row.optionalText(), video: row.flag())
    }

    static func readSentSync(_ row: SQLRow) throws(StoreFailure) -> DirectoryEntry.SentSync {
        DirectoryEntry.SentSync(device: try row.identifier(), sentAt: try row.instant())
    }
}
