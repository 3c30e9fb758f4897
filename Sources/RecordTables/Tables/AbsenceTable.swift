import CallCore
import CallVocabulary
import StoreInterface

/// Periods in which a party of a live call had no connection.
package enum AbsenceTable {
    package static let layout = TableLayout(
        name: "call_absence", key: ["call_serial", "role", "lost_at"], fixed: ["call"],
        columns: ["call", "role", "lost_at", "returned_at"], standsWithCall: true, numbering: "serial")

    package static let selectOfCall = layout.select + " WHERE \(TableLayout.ofCall) ORDER BY serial"

    package static func bind(_ record: AbsenceRecord, to row: inout OperationBuffer) {
        row.bind(record.call)
        row.bind(record.role)
        row.bind(record.lostAt)
        row.bind(record.returnedAt)
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> AbsenceRecord {
        AbsenceRecord(
            call: try row.identifier(), role: try row.value(), lostAt: try row.instant(),
            returnedAt: try row.optionalInstant())
    }
}
