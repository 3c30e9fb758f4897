import CallCore
import CallVocabulary
import RecordTables
import StoreInterface

extension PostgresReader {
    /// See `StoreQueries.openCalls()`.
    package func openCalls() throws(StoreFailure) -> RecoveredState {
        try read { try OpenRecords(PostgresStatements(connection: $0)).openCalls() }
    }

    /// Reads the state that had not ended when the last server stopped.
    func recover(timers: CallTimers) throws(StoreFailure) -> RecoveredState {
        try read { try OpenRecords(PostgresStatements(connection: $0)).all(timers) }
    }
}

/// The records that have not ended, each table in one query: a round trip for each call would take seconds.
private struct OpenRecords {
    private static let openCalls = """
        SELECT serial FROM call WHERE state <> 'ended'
        UNION SELECT call_serial FROM push WHERE \(PushTable.isOpen) AND purpose = 'call'
        """
    /// For tables with the serial of their call.
    private static let ofOpenCalls = " WHERE call_serial IN (\(openCalls)) ORDER BY call_serial, serial"
    private static let ids = "SELECT id FROM call WHERE serial IN (\(openCalls))"

    let source: PostgresStatements

    init(_ source: PostgresStatements) { self.source = source }

    func openCalls() throws -> RecoveredState {
        var state = RecoveredState()
        // In the order of their first write.
        state.calls = try source.statement(
            "\(CallTable.layout.select) WHERE serial IN (\(Self.openCalls)) ORDER BY serial"
        ).all(CallTable.read)
        state.legs = try source.statement(LegTable.layout.select + Self.ofOpenCalls).all(LegTable.read)
        state.pushes = try source.statement(PushTable.layout.select + Self.ofOpenCalls).all(PushTable.read)
            .filter { $0.purpose == .call }
        state.notices = try source.statement(NoticeTable.selectOpen).all(NoticeTable.readOpen)
        return state
    }

    func all(_ timers: CallTimers) throws -> RecoveredState {
        var state = try openCalls()
        state.devices = try devices()
        state.descriptions = try source.statement(
            "\(DescriptionsTable.layout.select) JOIN call ON call.id = call_descriptions.call "
                + "WHERE call.serial IN (\(Self.openCalls)) ORDER BY call.serial"
        ).all(DescriptionsTable.read)
        state.absences = try source.statement(AbsenceTable.layout.select + Self.ofOpenCalls).all(AbsenceTable.read)
        state.candidates = try source.statement(
            "\(CandidateTable.layout.select) JOIN call ON call.id = call_candidates.call "
                + "WHERE call.serial IN (\(Self.openCalls)) ORDER BY call.serial, call_candidates.serial"
        ).all(CandidateTable.read)
        let syncs = source.statement(NoticeTable.selectSentSyncs)
        // A sync intended earlier was sent before the window that counts, at the latest.
        syncs.bind((timers.notice + timers.backgroundWindow).wholeMilliseconds)
        state.sentSyncs = try syncs.all(NoticeTable.readSentSync)
        state.missed = try source.statement(MissedTable.layout.select + " ORDER BY user, at, call").all(
            MissedTable.read)
        state.groups = try TableQueries(source).groups()
        state.users = try source.statement(UserTable.layout.select + " ORDER BY handle").all(UserTable.read)
        state.rules = try source.statement(RulesTable.layout.select + " ORDER BY handle").all(RulesTable.read)
        state.revocations = try source.statement(RevocationTable.layout.select + " ORDER BY handle").all(
            RevocationTable.read)
        state.aliases = try TableQueries(source).aliases()
        return state
    }

    private func devices() throws -> [DeviceRecord] {
        var devices = try source.statement(DeviceTable.layout.select + " ORDER BY user, device").all(DeviceTable.read)
        let slots = Dictionary(zip(devices.map(\.key), devices.indices)) { _, last in last }
        let tokens = source.statement(TokenTable.layout.select + " ORDER BY user, device, position")
        for (key, token) in try tokens.all(TokenTable.read) {
            if let slot = slots[key] { devices[slot].tokens.append(token) }
        }
        return devices
    }
}
