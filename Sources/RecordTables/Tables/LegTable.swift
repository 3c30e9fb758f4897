import CallCore
import CallVocabulary
import StoreInterface

package enum LegTable {
    package static let layout = TableLayout(
        name: "leg", key: ["call_serial", "user", "device"], fixed: ["call"],
        columns: [
            "call", "user", "device", "push", "state", "created_at", "offered_at", "woken_at", "ringing_at",
            "answered_at", "ended_at", "end_reason",
        ], standsWithCall: true, numbering: "serial")

    package static let selectOfCall = layout.select + " WHERE \(TableLayout.ofCall) ORDER BY serial"

    package static let selectOfUser = layout.select + " WHERE \(TableLayout.ofCall) AND user = ? ORDER BY serial"

    package static func bind(_ record: LegRecord, to row: inout OperationBuffer) {
        row.bind(record.call)
        row.bind(record.device.user)
        row.bind(record.device.device)
        row.bind(record.push)
        row.bind(record.state)
        row.bind(record.createdAt)
        row.bind(record.offeredAt)
        row.bind(record.wokenAt)
        row.bind(record.ringingAt)
        row.bind(record.answeredAt)
        row.bind(record.endedAt)
        row.bind(record.endReason)
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> LegRecord {
        var record = LegRecord(
            call: try row.identifier(), device: DeviceKey(user: try row.handle(), device: try row.identifier()),
            push: try row.identifier(), state: try row.value(), createdAt: try row.instant())
        record.offeredAt = try row.optionalInstant()
        record.wokenAt = try row.optionalInstant()
        record.ringingAt = try row.optionalInstant()
        record.answeredAt = try row.optionalInstant()
        record.endedAt = try row.optionalInstant()
        record.endReason = try row.optionalValue()
        return record
    }
}
