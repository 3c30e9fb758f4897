import CallCore
import CallVocabulary
import StoreInterface

/// Missed calls, until their user has cleared them.
package enum MissedTable {
    package static let layout = TableLayout(
        name: "missed_call", key: ["user", "call"], fixed: [],
        columns: ["user", "call", "caller", "from_name", "at", "reason", "video"])
    package static let clear = "DELETE FROM missed_call WHERE user = ? AND at <= ?"

    package static func bind(_ missed: MissedCall, of user: Handle, to row: inout OperationBuffer) {
        row.bind(user)
        row.bind(missed.call)
        row.bind(missed.from)
        row.bind(missed.fromName)
        row.bind(missed.at)
        row.bind(missed.reason)
        row.bind(missed.video)
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> (user: Handle, call: MissedCall) {
        (
            user: try row.handle(),
            call: MissedCall(
                call: try row.identifier(), from: try row.handle(), fromName: row.optionalText(), at: try row.instant(),
                reason: try row.value(), video: row.flag())
        )
    }
}
