import CallCore
import CallVocabulary
import GRDB
import RecordTables
import StoreInterface

/// Reads the state that had not ended when the last server stopped.
enum Recovery {
    /// In the order of their first write.
    static let openCalls = """
        \(CallTable.layout.select) WHERE serial IN (
            SELECT serial FROM call WHERE state <> 'ended'
            UNION SELECT call_serial FROM push WHERE \(PushTable.isOpen) AND purpose = 'call'
        ) ORDER BY serial
        """

    static func read(_ database: Database) throws -> RecoveredState {
        var state = try readOpenCalls(database)
        let descriptions = try SQLRow(database, DescriptionsTable.layout.select + " WHERE call = ?")
        let absences = try SQLRow(database, AbsenceTable.selectOfCall)
        let candidates = try SQLRow(database, CandidateTable.selectOfCall)
        for call in state.calls {
            descriptions.bind(call.id)
            state.descriptions += try descriptions.all(DescriptionsTable.read)
            absences.bind(call.id)
            state.absences += try absences.all(AbsenceTable.read)
            candidates.bind(call.id)
            state.candidates += try candidates.all(CandidateTable.read)
        }
        state.users = try TableQueries(database).entries(state.userNames)
        return state
    }

    /// Reads open calls with their legs and pushes, open notices, and suspended devices only.
    static func readOpenCalls(_ database: Database) throws -> RecoveredState {
        var state = RecoveredState()
        state.calls = try SQLRow(database, openCalls).all(CallTable.read)
        let legs = try SQLRow(database, LegTable.selectOfCall)
        let pushes = try SQLRow(database, PushTable.selectOfCall)
        for call in state.calls {
            legs.bind(call.id)
            state.legs += try legs.all(LegTable.read)
            pushes.bind(call.id)
            state.pushes += try pushes.all(PushTable.read).filter { $0.purpose == .call }
        }
        state.notices = try SQLRow(database, NoticeTable.selectOpen).all(NoticeTable.readOpen)
        state.suspended = try SQLRow(database, DeviceTable.selectSuspended).all(DeviceTable.readKey)
        return state
    }
}
