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

    static func read(_ database: Database, timers: CallTimers) throws -> RecoveredState {
        var state = try readOpenCalls(database)
        state.devices = try devices(database)
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
        let syncs = try SQLRow(database, NoticeTable.selectSentSyncs)
        // A sync intended earlier was sent before the window that counts, at the latest.
        syncs.bind((timers.notice + timers.backgroundWindow).wholeMilliseconds)
        state.sentSyncs = try syncs.all(NoticeTable.readSentSync)
        let missed = try SQLRow(database, MissedTable.layout.select + " ORDER BY user, at, call")
        state.missed = try missed.all(MissedTable.read)
        state.groups = try SQLRow(database, GroupTable.layout.select + " ORDER BY name").all(GroupTable.read)
        state.users = try SQLRow(database, UserTable.layout.select + " ORDER BY handle").all(UserTable.read)
        state.rules = try SQLRow(database, RulesTable.layout.select + " ORDER BY handle").all(RulesTable.read)
        state.revocations = try SQLRow(database, RevocationTable.layout.select + " ORDER BY handle").all(
            RevocationTable.read)
        state.aliases = try SQLRow(database, AliasTable.layout.select + " ORDER BY handle").all(AliasTable.read)
        return state
    }

    /// Reads open calls with their legs and pushes, and open notices only.
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
        return state
    }

    /// The devices of one user or all, each with its tokens.
    static func devices(_ database: Database, of user: Handle? = nil) throws -> [DeviceRecord] {
        let condition = user == nil ? "" : " WHERE user = ?"
        let rows = try SQLRow(database, DeviceTable.layout.select + condition + " ORDER BY user, device")
        let tokenRows = try SQLRow(
            database, TokenTable.layout.select + condition + " ORDER BY user, device, position")
        if let user {
            rows.bind(user)
            tokenRows.bind(user)
        }
        var devices = try rows.all(DeviceTable.read)
        // A damaged page may return a row twice.
        let slots = Dictionary(zip(devices.map(\.key), devices.indices)) { _, last in last }
        guard slots.count == devices.count else {
            throw rows.failure(.corrupted, "a row of the table device is there twice")
        }
        for (key, token) in try tokenRows.all(TokenTable.read) {
            if let slot = slots[key] { devices[slot].tokens.append(token) }
        }
        return devices
    }
}
