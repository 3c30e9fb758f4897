import CallCore
import CallVocabulary
import StoreInterface

/// Periods in which a party of a live call had no connection.
enum AbsenceTable {
    static let layout = TableLayout(
        name: "call_absence", key: ["call_serial", "role", "lost_at"], fixed: ["call"],
        columns: ["call", "role", "lost_at", "returned_at"], standsWithCall: true)

    static let selectOfCall = layout.select + " WHERE \(TableLayout.ofCall) ORDER BY serial"

    static func bind(_ record: AbsenceRecord, to row: inout OperationBuffer) {
        row.bind(record.call)
        row.bind(record.role)
        row.bind(record.lostAt)
        row.bind(record.returnedAt)
    }

    static func read(_ row: SQLRow) throws(StoreFailure) -> AbsenceRecord {
        AbsenceRecord(
            call: try row.identifier(), role: try row.value(), lostAt: try row.instant(),
            returnedAt: try row.optionalInstant())
    }
}
