import CallCore
import CallVocabulary
import StoreInterface

/// Session descriptions and custom data of calls, while a device may still have to be told of them.
enum DescriptionsTable {
    static let layout = TableLayout(
        name: "call_descriptions", key: ["call"], fixed: [], columns: ["call", "offer", "custom", "answer"])
    static let drop = "DELETE FROM call_descriptions WHERE call = ?"

    static func bind(_ record: DescriptionsRecord, to row: inout OperationBuffer) {
        row.bind(record.call)
        row.bind(record.offer)
        row.bind(record.custom)
        row.bind(record.answer)
    }

    static func read(_ row: SQLRow) throws(StoreFailure) -> DescriptionsRecord {
        DescriptionsRecord(call: try row.identifier(), offer: row.json(), custom: row.json(), answer: row.json())
    }
}
