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
    func recover() throws(StoreFailure) -> RecoveredState {
        try read { try OpenRecords(PostgresStatements(connection: $0)).all() }
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
        state.suspended = try source.statement(DeviceTable.selectSuspended).all(DeviceTable.readKey)
        return state
    }

    func all() throws -> RecoveredState {
        var state = try openCalls()
        state.descriptions = try source.statement(
            "\(DescriptionsTable.layout.select) JOIN call ON call.id = call_descriptions.call "
                + "WHERE call.serial IN (\(Self.openCalls)) ORDER BY call.serial"
        ).all(DescriptionsTable.read)
        state.absences = try source.statement(AbsenceTable.layout.select + Self.ofOpenCalls).all(AbsenceTable.read)
        state.candidates = try source.statement(
            "\(CandidateTable.layout.select) JOIN call ON call.id = call_candidates.call "
                + "WHERE call.serial IN (\(Self.openCalls)) ORDER BY call.serial, call_candidates.serial"
        ).all(CandidateTable.read)
        state.users = try TableQueries(source).entries(state.userNames)
        return state
    }
}
