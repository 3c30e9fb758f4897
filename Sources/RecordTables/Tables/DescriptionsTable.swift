import CallCore
import CallVocabulary
import StoreInterface

/// Session descriptions and custom data of calls, while a device may still have to be told of them.
package enum DescriptionsTable {
    package static let layout = TableLayout(
        name: "call_descriptions", key: ["call"], fixed: [], columns: ["call", "offer", "custom", "answer"])
    package static let drop = "DELETE FROM call_descriptions WHERE call = ?"

    package static func bind(_ record: DescriptionsRecord, to row: inout OperationBuffer) {
        row.bind(record.call)
        row.bind(record.offer)
        row.bind(record.custom)
        row.bind(record.answer)
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> DescriptionsRecord {
        DescriptionsRecord(call: try row.identifier(), offer: row.json(), custom: row.json(), answer: row.json())
    }
}
