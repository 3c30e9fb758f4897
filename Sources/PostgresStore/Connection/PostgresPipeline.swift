import CallVocabulary
import RecordTables
import StoreInterface

/// Statements of one transaction, sent without waiting for their results.
final class PostgresPipeline: OperationSink {
    /// Dependent rows are created while their call is live, or at most this long after: a push about a missed call.
    private static let longestAfterCall = Duration.seconds(3600)
    private static let texts = Dictionary(
        uniqueKeysWithValues: StoreStatement.allCases.map { ($0.rawValue, $0.sql(.postgreSQL)) })

    private let connection: PostgresConnection
    private var parameters = PostgresParameters()
    private var statements = [PostgresConnection.Prepared?](repeating: nil, count: Int(UInt8.max) + 1)
    /// Calls that ended before this may have been deleted: rows of a deleted call are not written.
    var callsMayBeDeletedBefore: Instant?
    /// Whether a call or leg was written, which histories must have.
    private(set) var hasCallsOrLegs = false

    init(_ connection: PostgresConnection) { self.connection = connection }

    /// Sends a statement.
    func send(_ text: String, _ bind: (inout PostgresParameters) -> Void = { _ in }) throws(StoreFailure) {
        parameters.removeAll()
        bind(&parameters)
        try connection.send(try statement(text), parameters)
    }

    private func statement(_ text: String) throws(StoreFailure) -> PostgresConnection.Prepared {
        if let known = connection.isPrepared(text) { return known }
        return try connection.sendPrepare(text)
    }

    func run(_ operations: UnsafeRawBufferPointer) throws(StoreFailure) { try run(operations, only: nil) }

    /// - Parameter only: the one statement to run; others are skipped.
    func run(_ operations: UnsafeRawBufferPointer, only: StoreStatement?) throws(StoreFailure) {
        var reader = OperationReader(operations)
        while !reader.isAtEnd {
            guard let number = reader.statement(), let known = StoreStatement(rawValue: number) else { throw damaged }
            let prepared = try statement(known)
            let values = reader
            parameters.removeAll()
            guard parameters.bind(from: &reader, count: prepared.parameterCount) else { throw damaged }
            if let only, known != only { continue }
            try connection.send(prepared, parameters)
            switch known {
            case .upsertCall, .upsertLeg: hasCallsOrLegs = true
            default: break
            }
            try removeIfCallIsDeleted(known, values)
        }
    }

    private func statement(_ known: StoreStatement) throws(StoreFailure) -> PostgresConnection.Prepared {
        if let prepared = statements[Int(known.rawValue)] { return prepared }
        let prepared = try statement(Self.texts[known.rawValue] ?? "")
        statements[Int(known.rawValue)] = prepared
        return prepared
    }

    private var damaged: StoreFailure {
        StoreFailure(.unreadableRow, path: connection.path, detail: "journal.operations holds an unknown operation")
    }

    /// A report may arrive for a call that was looked up just before retention has deleted it. Its row then has no
    /// call, and is deleted again.
    private func removeIfCallIsDeleted(
        _ known: StoreStatement, _ operations: OperationReader
    ) throws(StoreFailure) {
        guard let cutoff = callsMayBeDeletedBefore, let place = known.call, let table = known.tableOfCall else {
            return
        }
        var reader = operations
        var (id, alive): (UnsafeRawPointer?, Int64?)
        for parameter in 1...max(place.id, place.alive) {
            switch reader.value() {
            case .identifier(let start)? where parameter == place.id: id = start
            case .integer(let number)? where parameter == place.alive: alive = number
            case .null?, .identifier?, .integer?, .text?, nil: break
            }
        }
        guard let id, let alive else { return }
        // A damaged journal can have any number here.
        let (end, isBelowAll) = alive.subtractingReportingOverflow(Self.longestAfterCall.wholeMilliseconds)
        guard Instant(milliseconds: isBelowAll ? .min : end) < cutoff else { return }
        try send("DELETE FROM \(table) WHERE call_serial = 0 AND call = ?") {
            $0.bindInPlace(UnsafeRawBufferPointer(start: id, count: 16))
        }
    }
}

@available(*, unavailable)
extension PostgresPipeline: Sendable {}

extension StoreStatement {
    /// The table of rows that depend on a call: see `call`.
    fileprivate var tableOfCall: String? {
        switch self {
        case .upsertLeg: LegTable.layout.name
        case .upsertPush: PushTable.layout.name
        case .upsertAbsence: AbsenceTable.layout.name
        default: nil
        }
    }
}
