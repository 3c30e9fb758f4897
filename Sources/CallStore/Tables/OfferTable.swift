import CallCore
import CallVocabulary

/// The payloads of invites, as long as their calls may still be offered.
enum OfferTable {
    static let layout = TableLayout(name: "call_offer", key: ["call"], fixed: [], columns: ["call", "sdp", "custom"])
    static let drop = "DELETE FROM call_offer WHERE call = ?"

    static func bind(_ record: OfferRecord, to row: inout OperationBuffer) {
        row.bind(record.call)
        row.bind(record.sdp)
        row.bind(record.custom)
    }

    static func read(_ row: SQLRow) throws(StoreFailure) -> OfferRecord {
        OfferRecord(call: try row.identifier(), sdp: row.json(), custom: row.json())
    }
}
