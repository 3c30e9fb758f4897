import CallVocabulary
import GRDB
import RecordTables
import StoreInterface

/// Runs operations within an open transaction.
final class OperationRunner: OperationSink {
    /// Dependent rows are created while their call is live, or at most this long after: a push about a missed call.
    private static let longestAfterCall = Duration.seconds(3600)

    private let format: JournalFormat
    /// Prepared statements by their number.
    private var rows: [SQLRow?]
    private let findCall: SQLRow
    /// Calls that ended before this may have been deleted: rows of a deleted call are not written.
    private var deletedBefore: Instant?

    init(_ database: Database, _ format: JournalFormat = .current) throws {
        self.format = format
        rows = Array(repeating: nil, count: Int(UInt8.max) + 1)
        for (number, statement) in format.statements { rows[Int(number)] = try SQLRow(database, statement.sql) }
        findCall = try SQLRow(database, "SELECT 1 FROM call WHERE id = ?")
    }

    func callsMayBeDeleted(before cutoff: Instant) {
        deletedBefore = max(deletedBefore ?? cutoff, cutoff)
    }

    func run(_ operations: UnsafeRawBufferPointer) throws(StoreFailure) { try run(operations, only: nil) }

    /// - Parameters:
    ///   - operations: must stay at their address during the call.
    ///   - only: the number of the one statement to run; others are skipped.
    /// - Throws: ``StoreFailure``; ``StoreFailure/Reason/unreadableRow`` for bytes that no ``OperationBuffer`` has
    ///   written.
    func run(_ operations: UnsafeRawBufferPointer, only: UInt8?) throws(StoreFailure) {
        var reader = OperationReader(operations)
        while !reader.isAtEnd {
            guard let statement = reader.statement(), let row = rows[Int(statement)] else {
                throw damaged
            }
            let isPassedOver = if let only { statement != only } else { try isOfDeletedCall(statement, reader) }
            guard !isPassedOver else {
                for _ in 0..<row.parameterCount where reader.value() == nil { throw damaged }
                continue
            }
            try row.bind(from: &reader)
            try row.run()
        }
    }

    private var damaged: StoreFailure {
        findCall.failure(.unreadableRow, "journal.operations holds an unknown operation")
    }

    /// - Parameter reader: positioned after the statement's number.
    private func isOfDeletedCall(
        _ statement: UInt8, _ operations: OperationReader
    ) throws(StoreFailure) -> Bool {
        guard let deletedBefore, let place = format.statements[statement]?.call else { return false }
        var reader = operations
        var (id, alive): (UnsafeRawPointer?, Int64?)
        for parameter in 1...max(place.id, place.alive) {
            switch reader.value() {
            case .identifier(let start)? where parameter == place.id: id = start
            case .integer(let number)? where parameter == place.alive: alive = number
            case .null?, .identifier?, .integer?, .text?, nil: break
            }
        }
        // A damaged file can have any number here.
        let earliestEnd = alive.map { alive in
            let (end, isBelowAll) = alive.subtractingReportingOverflow(Self.longestAfterCall.wholeMilliseconds)
            return Instant(milliseconds: isBelowAll ? .min : end)
        }
        guard let id, let earliestEnd, earliestEnd < deletedBefore else { return false }
        findCall.bindInPlace(identifier: id)
        return try findCall.first { _ in true } == nil
    }
}

@available(*, unavailable)
extension OperationRunner: Sendable {}
