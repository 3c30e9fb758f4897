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

    /// Selects background pushes intended up to the bound time before the last one.
    package static let selectSentSyncs = """
        SELECT user, device, sent_at FROM push WHERE purpose = 'sync' AND sent_at IS NOT NULL
            AND intended_at >= (SELECT max(intended_at) FROM push WHERE purpose = 'sync') - ?
        ORDER BY sent_at
        """

    package static func readOpen(_ row: some StatementRow) throws(StoreFailure) -> RecoveredState.Notice {
        RecoveredState.Notice(
            push: try PushTable.read(row), from: try row.handle(), fromName: row.optionalText(), video: row.flag())
    }

    package static func readSentSync(_ row: some StatementRow) throws(StoreFailure) -> RecoveredState.SentSync {
        RecoveredState.SentSync(
            device: DeviceKey(user: try row.handle(), device: try row.identifier()), sentAt: try row.instant())
    }
}
