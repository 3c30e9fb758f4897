import CallCore
import CallVocabulary
import StoreInterface

/// Batches of candidates for devices that have not been told of their call yet. Rows are only inserted and deleted.
package enum CandidateTable {
    package static let layout = TableLayout(
        name: "call_candidates", key: [], fixed: [], columns: ["call", "user", "device", "candidates", "is_final"],
        numbering: "serial")
    package static let drop = "DELETE FROM call_candidates WHERE call = ?"
    package static let selectOfCall = layout.select + " WHERE call = ? ORDER BY serial"

    package static func bind(_ record: CandidateRecord, to row: inout OperationBuffer) {
        row.bind(record.call)
        row.bind(record.device?.user)
        row.bind(record.device?.device)
        row.bind(JSONText.array(record.candidates))
        row.bind(record.isFinal)
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> CandidateRecord {
        let call: CallID = try row.identifier()
        let user = try row.optionalHandle()
        let device: DeviceID? = try row.optionalIdentifier()
        guard (user == nil) == (device == nil) else { throw row.unreadable() }
        guard let text = row.json(), let candidates = JSONText.elements(text) else { throw row.unreadable() }
        var key: DeviceKey?
        if let user, let device { key = DeviceKey(user: user, device: device) }
        return CandidateRecord(call: call, device: key, candidates: candidates, isFinal: row.flag())
    }
}
