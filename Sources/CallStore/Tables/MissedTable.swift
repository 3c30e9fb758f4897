import CallCore
import CallVocabulary
import StoreInterface

/// Missed calls, until their user has cleared them.
enum MissedTable {
    static let layout = TableLayout(
        name: "missed_call", key: ["user", "call"], fixed: [],
        columns: ["user", "call", "caller", "from_name", "at", "reason", "video"])
    static let clear = "DELETE FROM missed_call WHERE user = ? AND at <= ?"

    static func bind(_ missed: MissedCall, of user: Handle, to row: inout OperationBuffer) {
        row.bind(user)
        row.bind(missed.call)
        row.bind(missed.from)
        row.bind(missed.fromName)
        row.bind(missed.at)
        row.bind(missed.reason)
        row.bind(missed.video)
    }

    static func read(_ row: SQLRow) throws(StoreFailure) -> MissedCall {
        _ = try row.handle()
        return MissedCall(
            call: try row.identifier(), from: try row.handle(), fromName: row.optionalText(), at: try row.instant(),
            reason: try row.value(), video: row.flag())
    }
}
